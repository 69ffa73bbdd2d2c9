// Command gorilla asks an injector for a WebSocket with gorilla/websocket and prints what it
// gets, one line for each thing. With a second argument it says a ping and three messages.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/gorilla/websocket"
)

func main() {
	c, resp, err := websocket.DefaultDialer.Dial(os.Args[1], nil)
	if err != nil {
		status := 0
		if resp != nil {
			status = resp.StatusCode
		}
		fmt.Printf("handshake: %v (%d)\n", err, status)
		return
	}
	defer c.Close()
	c.SetReadLimit(1000)
	pongs := 0
	c.SetPongHandler(func(string) error { pongs++; return nil })
	if len(os.Args) > 2 {
		talk(c)
	}
	c.SetReadDeadline(time.Now().Add(time.Second))
	for n := 0; n < 3; n++ {
		_, p, err := c.ReadMessage()
		if err != nil {
			fmt.Println(describe(err))
			break
		}
		fmt.Printf("message %s\n", p)
	}
	fmt.Println("pongs", pongs)
}

func talk(c *websocket.Conn) {
	if err := c.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)); err != nil {
		fmt.Println("ping:", err)
	}
	for _, text := range []string{"aa", "bb", "cc"} {
		if err := c.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			fmt.Println("write:", err)
		}
	}
}

// describe tells the kinds of error apart that the library has.
func describe(err error) string {
	var closed *websocket.CloseError
	var timeout net.Error
	switch {
	case errors.As(err, &closed):
		return fmt.Sprintf("close %d %q", closed.Code, closed.Text)
	case errors.As(err, &timeout) && timeout.Timeout():
		return "i/o timeout"
	case errors.Is(err, websocket.ErrReadLimit):
		return "read limit"
	}
	return fmt.Sprintf("error: %v", err)
}
