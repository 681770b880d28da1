/** A real client reads the file that `patchbay connect` writes, and connects with the key in it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type RunningHub, runningHub } from '../unit/cli/running-hub.ts'
import { GEMINI, readBack } from './foreign/connected.ts'

let hub: RunningHub

beforeAll(async () => {
  hub = await runningHub()
  await hub.run(['groups', 'create', 'work'])
}, 120_000)
afterAll(() => hub?.[Symbol.asyncDispose]())

test('Gemini CLI', async () => {
  const { listed, printed } = await readBack(GEMINI, hub)
  expect([listed, printed]).toEqual([true, printed])
}, 300_000)
