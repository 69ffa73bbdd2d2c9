import http from 'node:http'

// One connection is kept for each request that is under way at once; the agent
// never sends a request a second time.
const agent = new http.Agent({ keepAlive: true })
const patience = 2000 // ms until a complete answer

// The identity of an incoming request goes on to the catalogue verbatim.
const relayed = ['traceparent', 'x-request-id']

/** An answer of the catalogue other than 200. */
export class StatusError extends Error {
  constructor (status) {
    super(`the catalogue answered ${status}`)
    this.status = status
  }
}

/**
 * Asks the catalogue once: GET {url}/items, answered by {"items": [..]}. Rejects
 * on any other status, a reset, an early end or a timeout.
 */
export function askCatalogue (url, incoming) {
  const headers = Object.fromEntries(relayed.filter(name => name in incoming).map(name => [name, incoming[name]]))
  return new Promise((resolve, reject) => {
    const request = http.get(`${url}/items`, { agent, headers, signal: AbortSignal.timeout(patience) }, async response => {
      try {
        let text = ''
        response.setEncoding('utf8')
        for await (const part of response) text += part
        if (response.statusCode !== 200) throw new StatusError(response.statusCode)
        resolve({ source: 'catalogue', items: JSON.parse(text).items })
      } catch (error) {
        reject(error)
      }
    })
    request.on('error', reject)
  })
}
