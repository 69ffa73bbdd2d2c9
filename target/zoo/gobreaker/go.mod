module github.com/faultline-go/faultline/target/zoo/gobreaker

go 1.26

require github.com/sony/gobreaker/v2 v2.4.0
