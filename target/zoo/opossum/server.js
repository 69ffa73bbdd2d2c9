// A recommendation service. GET /recommendations asks the catalogue behind the
// circuit breaker; it knows nothing of faultline.
import http from 'node:http'
import { askCatalogue } from './catalogue.js'
import { guard } from './breaker.js'

const { PORT, CATALOGUE_URL, PROFILE } = process.env
if (!PORT || !CATALOGUE_URL) {
  console.error('recommendations: PORT and CATALOGUE_URL are needed')
  process.exit(1)
}

const bestsellers = ['field guide', 'atlas']
const breaker = guard(PROFILE || 'good', incoming => askCatalogue(CATALOGUE_URL, incoming))
breaker.fallback(() => ({ source: 'bestsellers', items: bestsellers }))

const server = http.createServer(async (request, response) => {
  const path = new URL(request.url, 'http://service').pathname
  if (path === '/ready') return answer(response, 200, {})
  if (path !== '/recommendations') return answer(response, 404, {})
  try {
    answer(response, 200, await breaker.fire(request.headers))
  } catch (error) {
    answer(response, 502, { source: 'none', error: error.message })
  }
})
server.listen(Number(PORT), '127.0.0.1')

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => process.exit(0))
}

function answer (response, status, body) {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
}
