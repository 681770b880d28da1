import { expect, test } from 'bun:test'
import type { UpstreamFrame } from '../../../../core/connections/protocol/frames.ts'
import { CallTable } from '../../../../core/connections/worker/links/call-table.ts'
import { ServerRequestTable } from '../../../../core/connections/worker/links/server-requests-table.ts'

test('a question whose id is as long as its server likes is refused, and not kept until it is answered', () => {
  const sent: string[] = []
  const framed: UpstreamFrame[] = []
  const asks = new ServerRequestTable({
    capabilities: () => ({ roots: {} }),
    calls: new CallTable(60_000, 600_000),
    arm() {},
    send: text => sent.push(text),
    frame: frame => framed.push(frame),
    refused() {},
  })
  const ask = (id: string) => asks.request({ id, method: 'roots/list', params: undefined }, undefined)
  ask('x'.repeat(1_024))
  expect([sent.length, framed.length]).toEqual([0, 1])
  ask('x'.repeat(1_025))
  expect([JSON.parse(sent[0] ?? '').error.code, framed.length]).toEqual([-32600, 1])
})
