// Command grpc-go asks with grpc-go what a plan says, and tells what it made of it. See the
// README.md above.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

func main() {
	if err := play(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play asks one case after another, those with a long patience first: they warm the client up.
func play(plan string) error {
	text, err := os.ReadFile(plan)
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	if err := turns(string(text), func(ms int) bool { return ms > 1000 }); err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return fmt.Errorf("wait for the others: %w", err)
	}
	return turns(string(text), func(ms int) bool { return ms <= 1000 })
}

// turns asks the cases with some patience.
func turns(plan string, with func(ms int) bool) error {
	for line := range strings.Lines(plan) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(cells) != 8 {
			return fmt.Errorf("a line of the plan is %q", line)
		}
		ms, err := strconv.Atoi(cells[3])
		if err != nil {
			return fmt.Errorf("read the patience: %w", err)
		}
		if cells[1] != "grpc-go" || !with(ms) {
			continue
		}
		said, err := ask(cells[7], time.Duration(ms)*time.Millisecond)
		if err != nil {
			return err
		}
		fmt.Printf("%s\t%s\n", cells[0], said)
	}
	return nil
}

// ask calls once over a new channel.
func ask(address string, patience time.Duration) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("read the address: %w", err)
	}
	conn, err := grpc.NewClient(u.Host, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(asIs{})))
	if err != nil {
		return "", fmt.Errorf("make a channel: %w", err)
	}
	defer func() { _ = conn.Close() }() // All was said.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var answer []byte
	switch code := status.Code(conn.Invoke(ctx, "/zoo.Prices/Ask", []byte{}, &answer)); code {
	case codes.OK:
		return fmt.Sprintf("answer\tOK, %d bytes", len(answer)), nil
	case codes.DeadlineExceeded:
		return "timeout\tDEADLINE_EXCEEDED", nil
	default:
		return "error\t" + name(code), nil
	}
}

// name is a code as the protocol writes it.
func name(c codes.Code) string {
	if c == codes.Canceled {
		return "CANCELLED"
	}
	var b strings.Builder
	for i, r := range c.String() {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}

// asIs takes bytes for messages.
type asIs struct{}

func (asIs) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (asIs) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte{}, data...)
	return nil
}

func (asIs) Name() string { return "bytes" }
