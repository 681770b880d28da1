// Unexpected behaviour of Bun and some packages with files, databases, JSON and secrets.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { watch } from 'node:fs'
import { open, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { jwtVerify, SignJWT } from 'jose'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

let folder = ''

beforeAll(async () => {
  folder = await makeTemp('facts')
})

afterAll(() => removeTemp(folder))

test('a watched folder tells of every rename over a file, the watched file itself only of the first', async () => {
  const file = join(folder, 'settings.json')
  await writeFile(file, '0')
  let byFolder = 0
  let byFile = 0
  const folderWatcher = watch(folder, (_, name) => {
    if (name === 'settings.json') byFolder += 1
  })
  const fileWatcher = watch(file, () => {
    byFile += 1
  })
  const replace = async (text: string): Promise<void> => {
    const before = byFolder
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
    await until(() => byFolder > before, { what: 'the event of the folder' })
  }
  await replace('1')
  await until(() => byFile > 0, { what: 'the first event of the file' })
  // Events of the first rename may still be on their way.
  await Bun.sleep(500)
  const afterFirst = byFile
  await replace('2')
  await Bun.sleep(100)
  expect(byFile).toBe(afterFirst)
  folderWatcher.close()
  fileWatcher.close()
})

test('FileHandle.writeFile says ENOSPC on a full disk', async () => {
  const full = await open('/dev/full', 'w')
  const failure = await full.writeFile('x'.repeat(10_000)).catch((error: { code?: string }) => error.code)
  await full.close()
  expect(failure).toBe('ENOSPC')
})

test('better-sqlite3 names a violated unique index and a broken file by code', async () => {
  const database = new Database(join(folder, 'a.db'))
  database.exec("create table t (name text unique); insert into t values ('a')")
  const codeOf = (work: () => unknown): unknown => {
    try {
      work()
    } catch (error) {
      return (error as { code?: unknown }).code
    }
  }
  expect(codeOf(() => database.exec("insert into t values ('a')"))).toBe('SQLITE_CONSTRAINT_UNIQUE')
  database.close()
  await writeFile(join(folder, 'b.db'), 'this is no database, and long enough to be read as one'.repeat(40))
  const broken = new Database(join(folder, 'b.db'))
  expect(codeOf(() => broken.pragma('user_version'))).toBe('SQLITE_NOTADB')
  broken.close()
})

test('a busy database blocks the thread for busy_timeout', () => {
  const path = join(folder, 'busy.db')
  const one = new Database(path)
  one.exec('create table t (n)')
  one.exec('begin immediate')
  const two = new Database(path, { timeout: 200 })
  const start = performance.now()
  expect(() => two.exec('insert into t values (1)')).toThrow(/locked/)
  expect(performance.now() - start).toBeGreaterThan(150)
  two.close()
  one.close()
})

test('numbers beyond 2^53 survive by source text and JSON.rawJSON', () => {
  const text = '{"id":12345678901234567890,"price":1.10}'
  const json = JSON as unknown as {
    rawJSON(source: string): unknown
    parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  }
  const value = json.parse(text, (_, held, context) =>
    typeof held === 'number' ? json.rawJSON(context.source ?? '') : held,
  )
  expect(JSON.stringify(value)).toBe(text)
})

test('JSON.parse takes a depth that JSON.stringify and structuredClone do not survive', () => {
  const deep = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000))
  expect(() => JSON.stringify(deep)).toThrow(RangeError)
  expect(() => structuredClone(deep)).toThrow()
})

test('Object.assign with a parsed __proto__ sets the prototype', () => {
  const merged: { admin?: boolean } = Object.assign({}, JSON.parse('{"__proto__":{"admin":true}}'))
  expect(merged.admin).toBe(true)
})

test('Bun.password takes an explicit argon2id cost and verifies bcrypt', async () => {
  const hash = await Bun.password.hash('secret', { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 })
  expect(hash).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
  expect(await Bun.password.verify('secret', hash)).toBe(true)
  const bcrypt = await Bun.password.hash('secret', { algorithm: 'bcrypt', cost: 4 })
  expect(await Bun.password.verify('secret', bcrypt)).toBe(true)
  expect(await Bun.password.verify('other', bcrypt)).toBe(false)
})

test('jose accepts a token without an end unless exp is required', async () => {
  const key = new Uint8Array(32).fill(7)
  const token = await new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).sign(key)
  expect((await jwtVerify(token, key)).payload.exp).toBeUndefined()
  await expect(jwtVerify(token, key, { requiredClaims: ['exp'] })).rejects.toThrow('exp')
})
