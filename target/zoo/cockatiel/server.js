// A quote service. GET /quote asks the dependency behind the circuit breaker; it
// knows nothing of faultline.
import fs from 'node:fs'
import http from 'node:http'
import { circuitBreaker, handleAll, CircuitState, ConsecutiveBreaker } from 'cockatiel'

const { PORT, DEPENDENCY_URL, STATE_LOG } = process.env
if (!PORT || !DEPENDENCY_URL) {
  console.error('quotes: PORT and DEPENDENCY_URL are needed')
  process.exit(1)
}

const policy = circuitBreaker(handleAll, { halfOpenAfter: 600, breaker: new ConsecutiveBreaker(5) })
const agent = new http.Agent({ keepAlive: true })
const patience = 2000 // ms until a complete answer
const relayed = ['traceparent', 'x-request-id']

// The breaker's own changes of state, each with its instant in microseconds.
const names = { [CircuitState.Closed]: 'CLOSED', [CircuitState.Open]: 'OPEN', [CircuitState.HalfOpen]: 'HALF_OPEN' }
policy.onStateChange(state => {
  const micros = Math.round((performance.timeOrigin + performance.now()) * 1000)
  const at = new Date(Math.floor(micros / 1000)).toISOString().replace('Z', String(micros % 1000).padStart(3, '0') + 'Z')
  if (STATE_LOG) fs.appendFileSync(STATE_LOG, `${at} ${names[state]}\n`)
})

function ask (incoming) {
  const headers = Object.fromEntries(relayed.filter(name => name in incoming).map(name => [name, incoming[name]]))
  return new Promise((resolve, reject) => {
    const request = http.get(`${DEPENDENCY_URL}/quote`, { agent, headers, signal: AbortSignal.timeout(patience) }, response => {
      response.on('error', reject)
      response.on('end', () => response.statusCode === 200 ? resolve() : reject(new Error(`the dependency answered ${response.statusCode}`)))
      response.resume()
    })
    request.on('error', reject)
  })
}

const server = http.createServer(async (request, response) => {
  let source = 'dependency'
  if (request.url === '/quote') {
    await policy.execute(() => ask(request.headers)).catch(() => { source = 'fallback' })
  } else if (request.url !== '/ready') {
    return response.writeHead(404).end()
  }
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ source }))
})
server.listen(Number(PORT), '127.0.0.1')

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => process.exit(0))
}
