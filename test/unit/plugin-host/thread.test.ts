import { afterAll, expect, test } from 'bun:test'
import { Threads } from '../../../core/plugin-host/services/thread.ts'

const stop = new AbortController()
const thread = new Threads(stop.signal, 'measuring').open(
  new URL('./fixtures/measuring-thread.ts', import.meta.url).href,
)
afterAll(() => stop.abort())

test('a buffer in the message is cloned, or moved where the caller says so', async () => {
  const bytes = new Uint8Array(1_000)
  expect(await thread.request(bytes)).toBe(1_000)
  expect(bytes.length).toBe(1_000)
  expect(await thread.request(bytes, 30_000, [bytes.buffer])).toBe(1_000)
  expect(bytes.length).toBe(0)
})

test('a thread that does not answer in time is ended, and the next request starts it again', async () => {
  const silent = thread.request(new Uint8Array(0), 50)
  await expect(silent).rejects.toMatchObject({ code: 'connection_lost', message: expect.stringContaining('50 ms') })
  expect(await thread.request(new Uint8Array(7))).toBe(7)
})
