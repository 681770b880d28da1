import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BUN_CACHE, startHub } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'

/** Makes the program another user than root in its own view; it can still read root's files. Without root, nothing is changed. */
const WRAP = process.getuid?.() === 0 ? ['unshare', '--user'] : []

test('a hub that is not root has no sandbox and says so, refuses ordinary users’ commands, and makes nothing ready', async () => {
  const hub = await startHub({ wrap: WRAP })
  const admin = await hub.setup()
  expect((await admin.ok('GET', '/health')).checks.sandbox).toBe('none')
  const bob = await hub.user('bob')
  for (const path of ['/api/servers', '/api/servers/test']) {
    const answer = await bob.request('POST', path, { name: 'cat', command: 'cat' })
    expect([answer.status, answer.json.code]).toEqual([403, 'stdio_not_permitted'])
  }
  await admin.ok('POST', '/api/servers', { name: 'cat', command: 'cat' })
  // Above all, there is no copy of the runtime.
  expect(existsSync(join(hub.dataDir, 'runtime'))).toBe(false)
  const doctor = Bun.spawnSync([...WRAP, process.execPath, HUB_MAIN, 'doctor'], {
    env: {
      ...BUN_CACHE,
      PATH: process.env.PATH,
      HOME: hub.folder,
      DATA_DIR: hub.dataDir,
      SETTINGS_FILE: hub.settingsFile,
    },
  })
  expect(doctor.stdout.toString()).toMatch(/sandbox: level none: the hub does not run as root/)
  await hub.stop()
}, 120_000)
