package wire

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
)

// GRPCBody is the messages of an answer, each behind the five bytes that say whether it is
// compressed and how long it is. What the frame says is of the last one.
func GRPCBody(g *fault.GRPC) []byte {
	var body []byte
	for n, text := range g.Messages {
		message, _ := base64.StdEncoding.DecodeString(text) // It was checked.
		flag, length := byte(0), uint32(len(message))
		if n == len(g.Messages)-1 {
			switch g.Frame {
			case fault.GRPCTooLong:
				length += 16
			case fault.GRPCTooShort:
				length /= 2
			case fault.GRPCHuge:
				length = math.MaxUint32
			case fault.GRPCCompressed:
				flag = 1
			}
		}
		body = append(body, flag)
		body = binary.BigEndian.AppendUint32(body, length)
		body = append(body, message...)
	}
	return body
}

// GRPCTrailer is the status of an answer; nil: it ends without one.
func GRPCTrailer(g *fault.GRPC) http.Header {
	if g.End != "" {
		return nil
	}
	t := http.Header{"Grpc-Status": {strconv.Itoa(g.Status.Number())}}
	if g.Message != "" {
		t.Set("Grpc-Message", percent(g.Message))
	}
	if g.Details != "" {
		// Binary values go without padding, though all have to understand it.
		t.Set("Grpc-Status-Details-Bin", strings.TrimRight(g.Details, "="))
	}
	return t
}

// percent encodes a message as gRPC over HTTP/2 has it: every byte that is no visible ASCII or blank, and
// the percent sign.
func percent(text string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '%' {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
