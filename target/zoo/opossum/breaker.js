import fs from 'node:fs'
import CircuitBreaker from 'opossum'

// The breaker as it should be: more than half of the calls of two seconds, ten
// at least, open it for a second; then one call may try.
const good = {
  timeout: false, // the client of the catalogue has its own, which also lets go of the connection
  rollingCountTimeout: 2000,
  rollingCountBuckets: 10,
  errorThresholdPercentage: 50,
  volumeThreshold: 10,
  resetTimeout: 1000
}

const profiles = {
  good,
  // The same in less time: a window of a second, open for 600 ms.
  quick: { ...good, rollingCountTimeout: 1000, resetTimeout: 600 },
  // Defect: an error that the filter accepts counts as a success, and has no
  // fallback. It was meant for 4xx.
  'error-filter': { ...good, errorFilter: error => error.status >= 500 },
  // Defect: open for twice as long as it is said to be.
  'reset-2s': { ...good, resetTimeout: 2000 },
  // Defect: so many calls never come within two seconds.
  volume: { ...good, volumeThreshold: 1000 }
}

/** The action behind the breaker of a profile. */
export function guard (profile, action) {
  const options = profiles[profile]
  if (!options) throw new Error(`no profile is called ${profile}`)
  const breaker = new CircuitBreaker(action, options)
  if (process.env.STATE_LOG) tell(breaker, process.env.STATE_LOG)
  return breaker
}

/** Writes the breaker's changes of state to a file, each with its instant in microseconds. */
function tell (breaker, file) {
  for (const [event, state] of [['open', 'OPEN'], ['halfOpen', 'HALF_OPEN'], ['close', 'CLOSED']]) {
    breaker.on(event, () => {
      const micros = Math.round((performance.timeOrigin + performance.now()) * 1000)
      const at = new Date(Math.floor(micros / 1000)).toISOString().replace('Z', String(micros % 1000).padStart(3, '0') + 'Z')
      fs.appendFileSync(file, `${at} ${state}\n`)
    })
  }
}
