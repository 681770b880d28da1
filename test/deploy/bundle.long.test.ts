/** `bun start` runs few files that are built from the sources once, and the sources where nothing can be built. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { ROOT, startHub } from '../support/hub.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'

let tree: string
beforeAll(async () => {
  tree = await makeTemp('tree')
  for (const name of ['core', 'plugins', 'deploy', 'package.json', 'bun.lock', 'mcp_settings.json'])
    await cp(join(ROOT, name), join(tree, name), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
}, 60_000)
afterAll(() => removeTemp(tree))

function run(...args: readonly string[]): { readonly code: number; readonly out: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, ...args], { cwd: tree })
  return { code: exitCode, out: `${stdout}${stderr}`.trim() }
}

const started = () =>
  startHub({ program: [process.execPath, join(tree, 'deploy/start.ts')], settings: '{"mcpServers":{}}' })

test('builds once for the same sources, again after one changed, and starts what it built', async () => {
  const { out: first } = run('deploy/bundle.ts')
  expect(first).toStartWith(join(tree, 'out/hub/'))
  expect(run('deploy/bundle.ts').out).toBe(first)
  expect((await readdir(join(tree, 'out/hub'))).length).toBe(1)
  await utimes(join(tree, 'core/main.ts'), new Date(), new Date())
  const { out: second } = run('deploy/bundle.ts')
  expect(second).not.toBe(first)
  const hub = await started()
  expect((await fetch(`${hub.url}/health`)).status).toBe(200)
  expect(await hub.stop()).toBe(0)
  expect((await readdir(join(tree, 'out/hub'))).length).toBe(2)
  await writeFile(second, `process.stdout.write('what is built')\n`)
  expect(run('deploy/start.ts', '--version')).toEqual({ code: 0, out: 'what is built' })
}, 60_000)

test('runs the sources where nothing can be written', async () => {
  await removeTemp(join(tree, 'out'))
  await writeFile(join(tree, 'out'), 'no folder\n')
  expect(run('deploy/start.ts', '--version')).toEqual({ code: 0, out: manifest.version })
  const hub = await started()
  expect((await fetch(`${hub.url}/health`)).status).toBe(200)
  expect(await hub.stop()).toBe(0)
}, 60_000)
