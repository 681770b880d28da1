import { describe, expect, test } from 'bun:test'
import { DrainOnDisconnect } from '../../../core/transport-kit/drain-on-disconnect.ts'
import type { WireError } from '../../../core/transport-kit/wire-error.ts'

const GONE: WireError = { code: 'connection_lost', message: 'The server is gone' }
const LATER: WireError = { code: 'upstream_tls_error', message: 'Something else' }

function linkState() {
  const said: [string, WireError][] = []
  const drain = new DrainOnDisconnect({
    lost: reason => said.push(['lost', reason]),
    closed: reason => said.push(['closed', reason]),
  })
  return { said, drain }
}

describe('DrainOnDisconnect', () => {
  test('reports the first loss alone, and keeps the link until its owner stops it', () => {
    const { drain, said } = linkState()
    expect([drain.begin(GONE), drain.begin(LATER)]).toEqual([true, false])
    expect([said, drain.reason, drain.over]).toEqual([[['lost', GONE]], GONE, false])
    drain.stop()
    expect([drain.over, said.length]).toEqual([true, 1])
  })

  test('knows the reason before it reports it', () => {
    const reasons: unknown[] = []
    const drain: DrainOnDisconnect = new DrainOnDisconnect({
      lost: () => reasons.push(drain.reason),
      closed: () => undefined,
    })
    drain.begin(GONE)
    expect(reasons).toEqual([GONE])
  })

  test('ends once, also after a loss', () => {
    const { drain, said } = linkState()
    drain.begin(GONE)
    drain.end(LATER)
    drain.end(GONE)
    expect([said, drain.over]).toEqual([
      [
        ['lost', GONE],
        ['closed', LATER],
      ],
      true,
    ])
  })

  test('reports nothing after its owner has stopped it', () => {
    const { drain, said } = linkState()
    drain.stop()
    drain.end(LATER)
    expect([said, drain.begin(LATER), drain.over]).toEqual([[], false, true])
  })
})
