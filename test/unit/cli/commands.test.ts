import { describe, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMMANDS } from '../../../core/cli/commands.ts'
import manifest from '../../../package.json' with { type: 'json' }
import { patchbay } from './running-hub.ts'

async function inFolder(work: (cwd: string) => Promise<void>): Promise<void> {
  const cwd = await mkdtemp(join(tmpdir(), 'patchbay-cli-'))
  try {
    await work(cwd)
  } finally {
    await rm(cwd, { recursive: true, force: true })
  }
}

describe('runCommand()', () => {
  test('prints version and help, the latter for every command', async () => {
    const cwd = '/'
    expect(await patchbay(['--version'], { cwd })).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
    const overview = await patchbay(['--help'], { cwd })
    for (const [name, { summary }] of COMMANDS) {
      expect(overview.stdout).toContain(summary)
      const help = await patchbay([name, '--help'], { cwd })
      expect([help.code, help.stderr]).toEqual([0, ''])
      expect(help.stdout).toContain(`patchbay ${name}`)
      expect((await patchbay(['help', name], { cwd })).stdout).toBe(help.stdout)
    }
  })

  const wrong: readonly (readonly string[])[] = [
    ['srevers'],
    ['help', 'nothing'],
    ['servers'],
    ['servers', 'dance'],
    ['servers', 'add', 'x'],
    ['servers', 'add', 'x', '--url', 'http://x', '--', 'cmd'],
    ['servers', 'add', 'x', '--env', 'novalue', '--', 'cmd'],
    ['servers', 'show'],
    ['servers', 'show', 'a', 'b'],
    ['servers', 'list', '--colour'],
    ['call', 'a', 'b', '{'],
    ['call', 'a', 'b', '[]'],
    ['key', 'create', 'x', '--scope', 'everything'],
    ['key', 'create', 'x', '--expires', 'soon'],
    ['user', 'remove', 'x', '--cascade', '--transfer-to', 'y'],
    ['setup-token', 'extra'],
  ]
  test.each(wrong.map(argv => [argv.join(' '), argv] as const))('ends with 2 for: %s', async (_line, argv) => {
    const { code, stdout, stderr } = await patchbay(argv, { cwd: '/nowhere' })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toStartWith('error: usage: ')
  })

  test('ends with 2 for a wrong variable, in one line that names it', async () => {
    const { code, stderr } = await patchbay(['setup-token'], { cwd: '/', env: { PORT: '70000' } })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: env_invalid: PORT [^\n]*0 to 65535\n$/)
  })

  test('ends with 2 for a token that no header can carry, without repeating it', async () => {
    const env = { PATCHBAY_URL: 'http://127.0.0.1:9', PATCHBAY_TOKEN: 'pb_canary\nb' }
    const { code, stderr } = await patchbay(['servers', 'list'], { cwd: '/', env })
    expect(code).toBe(2)
    expect(stderr).toStartWith('error: usage: PATCHBAY_TOKEN ')
    expect(stderr).not.toContain('canary')
  })

  test('looks where a hub usually listens when the address that one has left is damaged', () =>
    inFolder(async cwd => {
      await writeFile(join(cwd, 'address'), 'no address\n')
      const { code, stderr } = await patchbay(['servers', 'list'], { cwd, env: { DATA_DIR: cwd, PORT: '9' } })
      expect(code).toBe(1)
      expect(stderr).toContain('Cannot reach http://127.0.0.1:9')
    }))

  test('ends with 1 and says what to do when no hub listens', async () => {
    const { code, stderr } = await patchbay(['servers', 'list'], {
      cwd: '/',
      env: { PATCHBAY_URL: 'http://127.0.0.1:9' },
    })
    expect(code).toBe(1)
    expect(stderr).toContain('no hub listens there')
    expect(stderr).toContain('patchbay serve')
  })
})

describe('doctor', () => {
  const subjects = (stdout: string) =>
    Object.fromEntries(
      (JSON.parse(stdout) as { subject: string; state: string; detail: string }[]).map(found => [found.subject, found]),
    )

  test('finds nothing wrong in an empty folder, and makes nothing there', () =>
    inFolder(async cwd => {
      const { code, stdout } = await patchbay(['doctor', '--json'], { cwd, env: { PORT: '0' } })
      const found = subjects(stdout)
      expect(code).toBe(0)
      for (const subject of ['Bun', 'environment', 'data folder', 'settings file', 'port']) {
        expect(found[subject]?.state).toBe('ok')
      }
      expect(found.sandbox?.detail).toMatch(/^level (full|uid|none): /)
      expect(await readdir(cwd)).toEqual([])
    }))

  test('ends with 1 for a broken settings file and a port in use, and says how to fix both', () =>
    inFolder(async cwd => {
      await writeFile(join(cwd, 'mcp_settings.json'), '{"mcpServers": {')
      const taken = createServer(socket => socket.destroy())
      const port = await new Promise<number>(resolve => {
        taken.listen(0, '127.0.0.1', () => {
          const address = taken.address()
          resolve(typeof address === 'object' && address ? address.port : 0)
        })
      })
      try {
        const { code, stdout } = await patchbay(['doctor'], { cwd, env: { PORT: String(port) } })
        expect(code).toBe(1)
        expect(stdout).toMatch(/wrong {2}settings file: settings_json: .*line 1[^\n]*\n +→ /)
        expect(stdout).toContain(`127.0.0.1:${port}: EADDRINUSE`)
        expect(stdout).toContain('set PORT')
      } finally {
        taken.close()
      }
    }))

  test('ends with 1 for a wrong variable, and continues with the other checks', () =>
    inFolder(async cwd => {
      const { code, stdout } = await patchbay(['doctor', '--json'], { cwd, env: { WORKERS: 'many', PATH: '/nowhere' } })
      const found = subjects(stdout)
      expect(code).toBe(1)
      expect(found.environment?.detail).toContain('WORKERS')
      expect(found.sandbox?.state).toBe('warn')
      expect(found.npx?.state).toBe('warn')
    }))
})
