// Package control is the HTTP API by which injectors are watched and changed while they
// run. It has a port of its own, answers in JSON, and is described by /openapi.json.
//
// Guarantees:
//   - It listens on loopback unless another address is allowed by its name, and then only
//     with a token.
//   - A web page cannot use it: requests whose Host is not one of its own names, and those
//     with a foreign Origin, are refused; what changes something must be sent as
//     application/json, which a page cannot do without being asked back.
//   - What is sent to it is read strictly: unknown and repeated keys are refused, nothing is
//     ignored and nothing is filled in.
//   - No request that an injector serves waits for the API, however slow its readers are.
package control
