import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { openCalls, reconnectsByItself, sealCalls } from '../../../core/mcp/legacy/lost-calls.ts'
import { createSealer } from '../../../core/secrets/seal.ts'

const sealer = createSealer([randomBytes(32)])

test('sealed calls open for the same principal and place alone', () => {
  const sealed = sealCalls(sealer, 'alice', '/mcp/g', '1\n"two"')
  expect(openCalls(sealer, 'alice', '/mcp/g', sealed)).toEqual(['1', '"two"'])
  expect(openCalls(sealer, 'bob', '/mcp/g', sealed)).toEqual([])
  expect(openCalls(sealer, 'alice', '/mcp/h', sealed)).toEqual([])
  for (const odd of ['', 'x', `${sealed}A`, sealed.slice(1), sealer.sealTokenBytes('other', Buffer.from('1'))])
    expect(openCalls(sealer, 'alice', '/mcp/g', odd)).toEqual([])
})

test('the first of very many calls are kept, whole', () => {
  const ids = Array.from({ length: 500 }, (_, index) => JSON.stringify(`request-${index}`))
  const sealed = sealCalls(sealer, 'alice', '/mcp', ids.join('\n'))
  expect(sealed.length).toBeLessThan(3_000)
  const opened = openCalls(sealer, 'alice', '/mcp', sealed)
  expect(opened.length).toBeGreaterThan(100)
  expect(opened).toEqual(ids.slice(0, opened.length))
  const endless = sealCalls(sealer, 'alice', '/mcp', JSON.stringify('x'.repeat(5_000)))
  expect(openCalls(sealer, 'alice', '/mcp', endless)).toEqual([])
})

test('clients with the fetch of a JavaScript runtime resume', () => {
  const of = (headers: Record<string, string>) => reconnectsByItself(new Headers(headers))
  for (const agent of ['node', 'undici', 'Bun/1.4.5', 'Deno/2.1.4', 'Mozilla/5.0 (X11)'])
    expect(of({ 'user-agent': agent })).toBe(true)
  for (const agent of ['python-httpx/0.28.1', 'Java-http-client/21', 'Go-http-client/1.1', 'nodejs-thing'])
    expect(of({ 'user-agent': agent })).toBe(false)
  expect(of({})).toBe(false)
  expect(of({ 'user-agent': 'mine/1', 'sec-fetch-mode': 'cors' })).toBe(true)
})
