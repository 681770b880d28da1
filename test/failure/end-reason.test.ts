/** A hub that has to end says why on standard error, also when that is a pipe which is full. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BUN_CACHE, ROOT } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'

let folder = ''

beforeAll(async () => {
  folder = await makeTemp('end-reason')
  await writeFile(join(folder, 'mcp_settings.json'), '{"mcpServers":{}}', { mode: 0o600 })
})

afterAll(() => removeTemp(folder))

test('an error that nobody catches ends the hub, and its reason is in a pipe that was full', async () => {
  const hub = Bun.spawn([process.execPath, HUB_MAIN], {
    cwd: ROOT,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      ...BUN_CACHE,
      PORT: '0',
      DATA_DIR: join(folder, 'data'),
      SETTINGS_FILE: join(folder, 'mcp_settings.json'),
      AT_SIGNAL: 'throw',
      BUN_OPTIONS: `--preload ${join(import.meta.dir, 'fixtures/at-signal.cjs')}`,
    },
  })
  const decoder = new TextDecoder()
  let text = ''
  let isSignalled = false
  for await (const part of hub.stderr) {
    text += decoder.decode(part, { stream: true })
    if (isSignalled || !text.includes('listening on')) continue
    isSignalled = true
    hub.kill('SIGUSR2')
  }
  expect(await hub.exited).toBe(1)
  expect(text).toContain('error: internal: Error: made to end the hub')
}, 60_000)
