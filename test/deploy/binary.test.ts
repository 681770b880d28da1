/** The one program, away from the repository and its packages. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../support/hub.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { smoke } from './smoke.ts'

let folder: string
let program: string

beforeAll(async () => {
  folder = await makeTemp('binary')
  const built = Bun.spawnSync([process.execPath, 'deploy/binary.ts', process.arch], { cwd: ROOT })
  const path = built.stdout.toString().trim()
  expect([built.exitCode, path]).toEqual([0, join(ROOT, `out/patchbay-linux-${process.arch}`)])
  program = join(folder, 'patchbay')
  await copyFile(path, program)
}, 300_000)
afterAll(() => removeTemp(folder))

test(
  'the program starts, serves the console, runs a server in the sandbox, and ends by TERM',
  () => smoke([program]),
  120_000,
)

test('the program is the command line as well', () => {
  const said = (...args: string[]) => {
    const { exitCode, stdout } = Bun.spawnSync([program, ...args], { cwd: folder, env: { HOME: folder } })
    return [exitCode, stdout.toString()]
  }
  expect(said('--help')).toEqual([0, expect.stringContaining('sample-server')])
  expect(said('serve', '--help')).toEqual([0, expect.stringContaining('patchbay serve')])
})
