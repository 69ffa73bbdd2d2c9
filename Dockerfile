# faultline in a container: a static binary in an image that has a shell and
# certificates and nothing else, run by nobody in particular.
#
#   docker build -t faultline .
#   docker run --rm --network host --user "$(id -u)" -v "$PWD:/work" faultline run checkout.yaml
#
# The folder of experiments is mounted at /work, and what a run leaves goes there.
# With --network host the SUT's dependency is at 127.0.0.1, as without a container.

FROM golang:1.26-alpine AS build
ARG OUT=/out
ENV CGO_ENABLED=0 GOFLAGS=-buildvcs=false
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN go build -trimpath -ldflags="-s -w" -o "${OUT}/faultline" ./cmd/faultline
# What cannot run is found here and not by who pulls it.
RUN "${OUT}/faultline" version

# sut.launch starts its command through a shell that outlives faultline.
FROM alpine:3
RUN apk add --no-cache ca-certificates && adduser -D -H -u 65532 faultline
COPY --from=build /out/faultline /usr/local/bin/faultline
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["faultline"]
CMD ["--help"]
