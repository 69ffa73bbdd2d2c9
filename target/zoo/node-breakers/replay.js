// Replays on the breakers themselves what a model says of them. Cases come on the
// standard input, one JSON object a line, as replay_play_test.go of breakerref/model
// writes them. After each operation the library has to look as the model did. The
// report goes to the standard output, the first differences to the standard error.
// Exit code: 1 if there was a difference, or nothing to replay.
import { mock } from 'node:test'
import { createInterface } from 'node:readline'
import { setImmediate as settled } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import CircuitBreaker from 'opossum'
import cockatiel from 'cockatiel'

const TOLD = 3 // differences told of each library

// An error that the breaker is set up not to count.
class Ignored extends Error {}

// How to make and to see a breaker, by its library. All is public: cockatiel gives
// its counts away in the state that it offers for storing.
const libraries = {
  opossum (options) {
    const breaker = new CircuitBreaker(action => action(), {
      ...options, timeout: false, enableSnapshots: false, rollingPercentilesEnabled: false, errorFilter: e => e instanceof Ignored
    })
    return {
      ask: action => breaker.fire(action),
      refused: error => error.code === 'EOPENBREAKER',
      state: () => breaker.opened ? 'OPEN' : breaker.halfOpen ? 'HALF_OPEN' : breaker.closed ? 'CLOSED' : 'none',
      counts: () => [breaker.stats].flatMap(s => [s.fires, s.successes, s.failures]),
      stop: () => breaker.shutdown()
    }
  },

  cockatiel ({ kind, threshold, halfOpenAfter, ...more }) {
    const breaker = kind === 'ConsecutiveBreaker' ? new cockatiel[kind](threshold) : new cockatiel[kind]({ threshold, ...more })
    const policy = cockatiel.circuitBreaker(cockatiel.handleWhen(e => !(e instanceof Ignored)), { breaker, halfOpenAfter })
    const { Closed, Open, HalfOpen } = cockatiel.CircuitState
    const counts = {
      ConsecutiveBreaker: failures => [failures],
      CountBreaker: s => [s.successes, s.failures],
      SamplingBreaker: s => [s.currentSuccesses, s.currentFailures]
    }
    return {
      ask: action => policy.execute(action),
      refused: error => error instanceof cockatiel.BrokenCircuitError,
      state: () => ({ [Closed]: 'CLOSED', [Open]: 'OPEN', [HalfOpen]: 'HALF_OPEN' })[policy.state],
      counts: () => counts[kind](breaker.state),
      stop: () => {}
    }
  }
}

/** Replays a case up to the first difference, and returns that, if any. */
async function replay ({ library, options, start, operations }, compared) {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: start })
  const breaker = libraries[library](options)
  const calls = new Map() // that run, by number
  const waiting = new Set() // numbers of those that have asked and have no answer
  let answers

  const answer = (call, text) => {
    waiting.delete(call)
    answers.push(`${call} ${text}`)
  }
  const ask = call => {
    waiting.add(call)
    breaker.ask(() => new Promise((resolve, reject) => {
      calls.set(call, { resolve, reject })
      answer(call, 'admitted')
    })).catch(error => {
      // A call that ran has had its answer, and fails as it was told to.
      if (waiting.has(call)) answer(call, breaker.refused(error) ? 'rejected' : String(error))
    })
  }
  const act = { // by what is to be done
    ask,
    wait: ms => mock.timers.tick(ms),
    success: call => calls.get(call).resolve(),
    failure: call => calls.get(call).reject(new Error('failure')),
    ignored: call => calls.get(call).reject(new Ignored())
  }

  try {
    for (const [i, { do: what, of, model }] of operations.entries()) {
      answers = []
      act[what](of)
      await settled() // All that follows from it has happened: timers stand still.
      const seen = { answers: answers.sort(), waiting: [...waiting], state: breaker.state(), counts: breaker.counts() }
      compared()
      if (!isDeepStrictEqual(seen, model)) return { at: i, seen }
    }
  } finally {
    breaker.stop()
    mock.timers.reset()
  }
}

/** A difference, and all that led to it. */
function tell ({ library, options, operations }, { at, seen }) {
  const { model } = operations[at]
  const led = operations.slice(0, at + 1).map(o => `${o.do} ${o.of}`).join(', ')
  return [`${library} ${JSON.stringify(options)}`, `operation ${at} of: ${led}`,
    `model:   ${JSON.stringify(model)}`, `library: ${JSON.stringify(seen)}`].join('\n  ')
}

const reports = new Map() // by library
for await (const line of createInterface({ input: process.stdin })) {
  const played = JSON.parse(line)
  const { library } = played
  if (!Object.hasOwn(libraries, library)) throw new Error(`no library is called ${library}`)
  if (!reports.has(library)) reports.set(library, { operations: 0, cases: 0, differences: 0 })
  const report = reports.get(library)
  report.cases++
  const difference = await replay(played, () => report.operations++)
  if (difference && ++report.differences <= TOLD) console.error(tell(played, difference))
}

let right = reports.size > 0
for (const [library, { operations, cases, differences }] of reports) {
  console.log(`${library}: replayed ${operations} operations of ${cases} cases, ${differences} differences`)
  right &&= operations > 0 && differences === 0
}
if (!right) process.exitCode = 1
