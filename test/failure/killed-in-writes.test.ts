import { expect, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openStore } from '../../core/store/open.ts'
import { ROOT } from '../support/hub.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const RUNS = 15

test(`kill -9 in the middle of store writes: what was acknowledged is there, and whole, in ${RUNS} of ${RUNS} runs`, async () => {
  for (let run = 0; run < RUNS; run += 1) {
    const dataDir = await makeTemp('store')
    const child = Bun.spawn([process.execPath, join(ROOT, 'test/failure/fixtures/store-writer.ts'), dataDir], {
      stdout: 'pipe',
    })
    let text = ''
    const reading = (async () => {
      const decoder = new TextDecoder()
      for await (const chunk of child.stdout) text += decoder.decode(chunk)
    })()
    const enough = 5 + run * 7
    await until(() => text.split('\n').length > enough, { timeoutMs: 10_000, intervalMs: 1 })
    child.kill('SIGKILL')
    await child.exited
    await reading
    const acknowledged = text.trimEnd().split('\n').length
    const store = await openStore({ dataDir })
    const rows = await store.db.selectFrom('setting').select(['scope', 'key']).where('scope', '!=', 'system').execute()
    await store.close()
    const count = (scope: string): number => rows.filter(row => row.scope === scope).length
    expect(count('first')).toBeGreaterThanOrEqual(acknowledged)
    expect(count('second')).toBe(count('first'))
    await removeTemp(dataDir)
  }
}, 60_000)

for (const [what, calls, times] of [
  ['write', 'write,pwrite64', 16],
  ['fsync', 'fsync,fdatasync', 8],
  ['rename', 'rename,renameat,renameat2', 4],
] as const) {
  test(`kill -9 at each ${what} of four saves: the file is one whole version, none older than acknowledged`, async () => {
    if (Bun.which('strace') === null) throw new Error('This test needs strace: apt-get install strace')
    const seen = new Set<number>()
    for (let nth = 1; nth <= times; nth += 1) {
      const folder = await makeTemp('save')
      const path = join(folder, 'settings.json')
      await writeFile(path, JSON.stringify({ version: 0 }), { mode: 0o600 })
      const saver = Bun.spawn(
        [
          ...['strace', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`],
          ...['-e', `inject=${calls}:signal=KILL:when=${nth}`],
          ...[process.execPath, join(ROOT, 'test/failure/fixtures/file-saver.ts'), path],
        ],
        { stdout: 'pipe', stderr: 'ignore' },
      )
      const acknowledged = (await new Response(saver.stdout).text()).trim().split('\n').at(-1)
      await saver.exited
      const { version, filling } = JSON.parse(await readFile(path, 'utf8'))
      if (version > 0) expect(filling).toBe(`${version}`.repeat(version % 2 === 0 ? 100 : 200_000))
      expect(version).toBeGreaterThanOrEqual(Number(acknowledged))
      seen.add(version)
      await removeTemp(folder)
    }
    // The kills did hit different places.
    expect(seen.size).toBeGreaterThan(1)
  }, 60_000)
}
