import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openStore } from '../../core/store/open.ts'
import { extent } from './extent.ts'
import { ROOT } from './hub.ts'
import { makeTemp, removeTemp } from './temp.ts'
import { until } from './wait.ts'

/** System calls of a save of a settings file, their number in four saves, and the number of rounds: 200 runs in all. */
export const SAVE_CALLS = {
  write: ['write,pwrite64', 16, extent(1, 8)],
  fsync: ['fsync,fdatasync', 8, extent(1, 6)],
  rename: ['rename,renameat,renameat2', 4, extent(2, 6)],
} as const

/**
 * Saves a file four times in a process that is killed at the nth of these calls. Returns the version in the file afterwards, 0
 * to 4. Throws if the file is not one complete version, or is older than the acknowledged one.
 */
export async function killedSave(calls: string, nth: number): Promise<number> {
  if (Bun.which('strace') === null) throw new Error('This test needs strace: apt-get install strace')
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
  const acknowledged = Number((await new Response(saver.stdout).text()).trim().split('\n').at(-1))
  await saver.exited
  const { version, filling } = JSON.parse(await readFile(path, 'utf8'))
  const whole = version === 0 || filling === `${version}`.repeat(version % 2 === 0 ? 100 : 200_000)
  if (!whole) throw new Error(`Killed at call ${nth} of ${calls}: version ${version} is not whole`)
  if (version < acknowledged) {
    throw new Error(`Killed at call ${nth} of ${calls}: version ${version}, and ${acknowledged} was acknowledged`)
  }
  await removeTemp(folder)
  return version
}

/**
 * Writes to a store in a process that is killed once this many writes were acknowledged. Returns their number. Throws if one of
 * them is missing or incomplete, or if the file is damaged.
 */
export async function killedStore(enough: number): Promise<number> {
  const dataDir = await makeTemp('store')
  const child = Bun.spawn([process.execPath, join(ROOT, 'test/failure/fixtures/store-writer.ts'), dataDir], {
    stdout: 'pipe',
  })
  let text = ''
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of child.stdout) text += decoder.decode(chunk)
  })()
  await until(() => text.split('\n').length > enough, { timeoutMs: 60_000, intervalMs: 1 })
  child.kill('SIGKILL')
  await child.exited
  await reading
  const acknowledged = text.trimEnd().split('\n').length
  const store = await openStore({ dataDir })
  const rows = await store.db.selectFrom('setting').select(['scope', 'key']).where('scope', '!=', 'system').execute()
  const [{ integrity_check: integrity } = { integrity_check: 'nothing' }] = (
    await sql<{ integrity_check: string }>`pragma integrity_check`.execute(store.db)
  ).rows
  await store.close()
  const count = (scope: string): number => rows.filter(row => row.scope === scope).length
  const [first, second] = [count('first'), count('second')]
  const told = `killed after ${acknowledged}: ${first} and ${second} rows, integrity ${integrity}`
  if (integrity !== 'ok' || first < acknowledged || first !== second) throw new Error(told)
  await removeTemp(dataDir)
  return acknowledged
}

/** Runs the work for each item, with this many at a time. */
export async function several<T, R>(items: readonly T[], atOnce: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const left = [...items.entries()]
  const results: R[] = []
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let next = left.shift(); next; next = left.shift()) results[next[0]] = await work(next[1])
    }),
  )
  return results
}
