import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { makeTemp, removeTemp } from '../../support/temp.ts'

const ROOT = join(import.meta.dir, '../../..')

async function deno(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const folder = await makeTemp('deno')
  try {
    const child = Bun.spawn([join(ROOT, 'node_modules/.bin/deno'), ...args], {
      cwd: ROOT,
      stdout: 'pipe',
      stderr: 'pipe',
      env: { PATH: process.env.PATH ?? '', HOME: folder, DENO_DIR: folder, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' },
    })
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { code: await child.exited, out, err }
  } finally {
    await removeTemp(folder)
  }
}

test('the application type-checks under Deno', async () => {
  expect(await deno('check', '--no-lock', '--no-remote', 'core/http/app.ts')).toMatchObject({ code: 0 })
}, 600_000)

test('the application answers under Deno as it does here', async () => {
  const run = await deno('run', '--no-lock', '--no-remote', '--allow-read', 'test/unit/http/deno-app.ts')
  expect(run.err).toBe('')
  expect(
    run.out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
  ).toEqual([
    { status: 200, encoding: null, params: { ref: 'a b' } },
    { status: 200, encoding: 'gzip' },
    { status: 400, encoding: null, code: 'validation_failed' },
    { status: 400, encoding: null, code: 'json_invalid' },
    { status: 401, encoding: null, code: 'unauthenticated' },
    { status: 400, encoding: null, code: 'path_invalid' },
    { status: 403, encoding: null, code: 'origin_not_allowed' },
  ])
}, 600_000)
