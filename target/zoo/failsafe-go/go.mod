module github.com/faultline-go/faultline/target/zoo/failsafe-go

go 1.26

require github.com/failsafe-go/failsafe-go v0.9.8

require github.com/bits-and-blooms/bitset v1.24.4 // indirect
