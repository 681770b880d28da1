import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { dataDirHolder, lockDataDir } from '../../../core/config/data-lock.ts'
import { StartError } from '../../../core/config/start-error.ts'
import { tempFolder, until } from './temp.ts'

const HOLDER = join(import.meta.dir, 'fixtures', 'hold-lock.ts')

test('lockDataDir() refuses a second holder by process id, and lets go', async () => {
  await using temp = await tempFolder()
  const lock = await lockDataDir(temp.path)
  const refused = await lockDataDir(temp.path).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(StartError)
  expect(refused).toMatchObject({ code: 'data_dir_locked', exitCode: 1 })
  expect((refused as StartError).message).toContain(String(process.pid))
  await lock.release()
  await lock.release()
  await (await lockDataDir(temp.path)).release()
})

test('lockDataDir() holds against another process, through its garbage collections, until that one is killed', async () => {
  await using temp = await tempFolder()
  const holder = Bun.spawn([process.execPath, HOLDER, temp.path], { stdout: 'pipe', stdin: 'pipe' })
  try {
    const reader = holder.stdout.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('held\n')
    expect(await dataDirHolder(temp.path)).toBe(holder.pid)
    holder.kill('SIGKILL')
    await holder.exited
    const lock = await until(() => lockDataDir(temp.path).catch(() => undefined), 'the lock was free')
    expect(await dataDirHolder(temp.path)).toBe(process.pid)
    await lock.release()
    expect(await dataDirHolder(temp.path)).toBeUndefined()
  } finally {
    holder.kill('SIGKILL')
    await holder.exited
  }
})
