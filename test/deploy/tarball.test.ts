/** The package that `npm pack` makes, as npm installs it, started by Node with no Bun on PATH. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, readdir, rename, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ROOT } from '../support/hub.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { smoke } from './smoke.ts'

let folder: string
let installed: string

const succeed = (command: readonly string[], cwd: string): string => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd,
    env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: folder },
  })
  if (exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${exitCode}: ${stderr}`)
  return stdout.toString()
}

beforeAll(async () => {
  folder = await makeTemp('tarball')
  succeed([process.execPath, 'ui/build.ts', '--if-stale'], ROOT)
  // The package is packed without its script, which needs a program called "bun".
  const [packed] = JSON.parse(
    succeed(['npm', 'pack', '--ignore-scripts', '--json', '--pack-destination', folder], ROOT),
  )
  succeed(['tar', '-xzf', join(folder, packed.filename)], folder)
  const packages = join(folder, 'node_modules')
  installed = join(packages, 'patchbay')
  await mkdir(packages)
  await rename(join(folder, 'package'), installed)
  // The packages that npm would fetch are the ones installed in the repository.
  const names = (await readdir(join(ROOT, 'node_modules'))).filter(name => !name.startsWith('.') && name !== 'patchbay')
  await Promise.all(names.map(name => symlink(join(ROOT, 'node_modules', name), join(packages, name))))
}, 300_000)
afterAll(() => removeTemp(folder))

test('the package starts, serves the console, runs a server in the sandbox, and ends by TERM', async () => {
  await smoke(['node', join(installed, 'core/launch.mjs')])
}, 300_000)

test('the launcher passes arguments and exit codes on, and names what is missing', async () => {
  const launch = (args: readonly string[], env: Record<string, string> = {}) => {
    const command = ['node', join(installed, 'core/launch.mjs'), ...args]
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', HOME: folder, ...env },
    })
    return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() }
  }
  expect(launch(['--help'])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('sample-server') })
  expect(launch(['serve', 'now'])).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('takes no arguments') })
  const missing = launch([], { PATCHBAY_BUN: join(folder, 'none') })
  expect(missing).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('error: bun_missing: ') })
})

test('the package holds what runs, and nothing else of the repository', async () => {
  expect((await readdir(installed)).sort()).toEqual([
    ...['LICENSE', 'README.md', 'SECURITY.md', 'core', 'docs', 'mcp_settings.json', 'package.json', 'plugins', 'ui'],
  ])
  expect(await readdir(join(installed, 'ui'))).toEqual(['dist'])
})
