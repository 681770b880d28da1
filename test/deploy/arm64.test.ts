/**
 * The program in one file for arm64, built here and run by QEMU's emulation of such a processor. QEMU passes programs that
 * the hub starts to this machine's own kernel, so servers run on this machine's Bun and the sandbox is left out. It runs in
 * `bun run soak`, since it needs packages.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { unpackedPrograms } from '../support/debian-packages.ts'
import { extent } from '../support/extent.ts'
import { ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { consoleOf } from './smoke.ts'

const LOADER = 'usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1'

async function emulator(): Promise<readonly string[]> {
  const { folder } = await unpackedPrograms({
    name: 'qemu-aarch64',
    packages: ['qemu-user-static', 'libc6-arm64-cross', 'libgcc-s1-arm64-cross', 'libstdc++6-arm64-cross'],
    ...{ libraries: [], programs: ['usr/bin/qemu-aarch64-static', LOADER] },
  })
  return [join(folder, 'usr/bin/qemu-aarch64-static'), '-L', join(folder, 'usr/aarch64-linux-gnu')]
}

describe.each(extent([], ['under emulation']))('the program for arm64 %s', () => {
  let program: readonly string[]
  let folder: string

  beforeAll(async () => {
    folder = await makeTemp('arm64')
    const built = Bun.spawnSync([process.execPath, 'deploy/binary.ts', 'arm64'], { cwd: ROOT })
    const path = built.stdout.toString().trim()
    expect([built.exitCode, path]).toEqual([0, join(ROOT, 'out/patchbay-linux-arm64')])
    expect(Bun.spawnSync(['od', '-An', '-tu2', '-j18', '-N2', path]).stdout.toString().trim()).toBe('183')
    program = [...(await emulator()), path]
  }, 600_000)
  afterAll(() => removeTemp(folder))

  test('serves the console, runs servers in its threads, keeps what was stored, and ends by TERM', async () => {
    const settings = { mcpServers: { echo: stdioFixture('echo') } }
    const start = () => startHub({ folder, settings, program, timeoutMs: 90_000 })
    const first = await start()
    await consoleOf(first.url)
    const admin = await first.setup()
    await online(admin, ['echo'], 60_000)
    await admin.ok('POST', '/api/groups', { name: 'home', members: ['echo'] })
    const client = await admin.mcp('/mcp/home')
    expect(await callText(client, 'echo', { text: 'von arm64 · 你好' })).toContain('von arm64 · 你好')
    await client.close()
    // A thread parses bodies over 128 KiB.
    const text = 'x'.repeat(200_000)
    const refused = await admin.request('POST', '/api/servers', {
      name: 'large',
      url: 'http://127.0.0.1:9/',
      other: text,
    })
    expect([refused.status, refused.json.code]).toEqual([400, 'validation_failed'])
    expect(await first.stop({ keep: true })).toBe(0)

    const second = await start()
    const again = await second.signIn('admin')
    expect((await again.ok('GET', '/api/groups')).items).toEqual([expect.objectContaining({ name: 'home' })])
    expect(await second.stop({ keep: true })).toBe(0)
  }, 600_000)

  test('is the command line as well', () => {
    const { exitCode, stdout } = Bun.spawnSync([...program, '--version'], { cwd: folder, env: { HOME: folder } })
    expect([exitCode, stdout.toString()]).toEqual([0, expect.stringContaining('1.1.0')])
  }, 120_000)
})
