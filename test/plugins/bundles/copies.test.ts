/** Unpacked copies of bundles in a real folder: one for each user, made again when they are not whole. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Buffer } from 'node:buffer'
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ProgramFolders } from '../../../core/connections/sandbox/program-folders.ts'
import { ProgramCopies } from '../../../core/connections/spawn/program-copies.ts'
import { readArchive } from '../../../plugins/bundles/archive.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { zipOf } from '../../support/zip.ts'

const FOLDER = 'bundles'
const PROGRAM = 'b'.repeat(64)
const FILES = { 'manifest.json': '{}', 'server/index.js': 'console.log("whole")', 'server/lib/a.js': 'a'.repeat(5_000) }

let root: string
let folders: ProgramFolders
let zip: Buffer
/** Number of times that a bundle was read to be unpacked. */
let reads: number

beforeEach(async () => {
  root = await makeTemp('copies')
  folders = new ProgramFolders(root)
  zip = zipOf(Object.entries(FILES).map(([name, content]) => ({ name, content })))
  reads = 0
})
afterEach(() => removeTemp(root))

/** A hub's unpacker, with the copies that its servers use. */
function unpacker(used: readonly string[] = ['ada', 'bob']): ProgramCopies {
  return new ProgramCopies({
    sandbox: { programs: folders },
    programs: {
      folders: () => [FOLDER],
      source: () => ({
        refusal: async () => undefined,
        async unpack(_owner, _program, write) {
          reads += 1
          await readArchive(zip, write)
        },
      }),
    },
    used: () => used.map(ownerId => ({ ownerId, serverId: PROGRAM, folder: FOLDER })),
    log: { warn: text => expect.unreachable(text) },
  })
}

const order = (ownerId: string, ownerNumber = 1) => ({
  confinement: { ownerId, ownerNumber },
  program: { plugin: 'store', field: 'program', id: PROGRAM, folder: FOLDER },
})
const folderOf = (ownerId: string): string => folders.path({ ownerId, serverId: PROGRAM, folder: FOLDER })
const nothingMore = async (): Promise<void> => undefined

function expectWhole(ownerId: string): void {
  for (const [name, content] of Object.entries(FILES))
    expect(readFileSync(join(folderOf(ownerId), name), 'utf8')).toBe(content)
  expect(readdirSync(dirname(folderOf(ownerId))).toSorted()).toEqual([PROGRAM, `${PROGRAM}.json`])
}

test('two users with one bundle have a copy each, and the removal of one leaves the other', async () => {
  const used = ['ada', 'bob']
  const copies = unpacker(used)
  await Promise.all([copies.ensure(order('ada', 1), nothingMore), copies.ensure(order('bob', 2), nothingMore)])
  expect(reads).toBe(2)
  expect(statSync(folderOf('ada')).uid).not.toBe(statSync(folderOf('bob')).uid)
  used.splice(0, 1)
  copies.tidy()
  // Waits for the round that was asked for.
  await copies.ensure(order('bob', 2), nothingMore)
  expect(existsSync(folderOf('ada'))).toBe(false)
  expectWhole('bob')
  expect(reads).toBe(2)
  copies.dispose()
})

test('several starts of one bundle at once unpack it once, and a whole copy is used by the next hub', async () => {
  const first = unpacker()
  await Promise.all([1, 2, 3].map(() => first.ensure(order('ada'), nothingMore)))
  first.dispose()
  const next = unpacker()
  await next.ensure(order('ada'), nothingMore)
  expect(reads).toBe(1)
  next.dispose()
})

test('files that the installation of packages changes are part of the copy', async () => {
  const first = unpacker()
  await first.ensure(order('ada'), async () => writeFileSync(join(folderOf('ada'), 'server/index.js'), 'locked'))
  first.dispose()
  const next = unpacker()
  await next.ensure(order('ada'), nothingMore)
  expect([reads, readFileSync(join(folderOf('ada'), 'server/index.js'), 'utf8')]).toEqual([1, 'locked'])
  next.dispose()
})

/** Damage by a kill, a loss of power or another program, after which the copy is made again. */
const DAMAGES: readonly (readonly [what: string, damage: (folder: string) => void])[] = [
  ['no record, as after a kill while it was unpacked', folder => unlinkSync(`${folder}.json`)],
  ['half a record', folder => truncateSync(`${folder}.json`, 20)],
  ['an empty record', folder => truncateSync(`${folder}.json`, 0)],
  [
    'a record of an earlier version',
    folder =>
      writeFileSync(`${folder}.json`, JSON.stringify({ program: { plugin: 'store', field: 'program', id: PROGRAM } })),
  ],
  ['a record of something else', folder => writeFileSync(`${folder}.json`, '{"bundle":"other","files":[]}')],
  ['a file without its content', folder => truncateSync(join(folder, 'server/lib/a.js'), 0)],
  ['a file that is longer', folder => writeFileSync(join(folder, 'server/index.js'), 'x', { flag: 'a' })],
  ['a file that is gone', folder => unlinkSync(join(folder, 'server/index.js'))],
]

describe('at the next start of the hub a copy with', () => {
  test.each(DAMAGES)('%s is made again', async (_, damage) => {
    const first = unpacker()
    await first.ensure(order('ada'), nothingMore)
    first.dispose()
    damage(folderOf('ada'))
    const next = unpacker()
    await next.ensure(order('ada'), nothingMore)
    expect(reads).toBe(2)
    expectWhole('ada')
    next.dispose()
  })
})

test('an error in the middle leaves nothing, and the next start unpacks again', async () => {
  const copies = unpacker()
  const whole = zip
  zip = zipOf([
    { name: 'manifest.json', content: '{}' },
    { name: 'a', content: 'x'.repeat(9_000), saysCrc: 1 },
  ])
  await expect(copies.ensure(order('ada'), nothingMore)).rejects.toMatchObject({ code: 'bundle_invalid' })
  const failing = copies.ensure(order('bob'), () => Promise.reject(new Error('no packages')))
  await expect(failing).rejects.toBeDefined()
  expect([existsSync(folderOf('ada')), existsSync(folderOf('bob'))]).toEqual([false, false])
  zip = whole
  await copies.ensure(order('ada'), nothingMore)
  expectWhole('ada')
  copies.dispose()
})

test('copies in the layout of earlier versions, and of users who are gone, are removed at the start', async () => {
  await mkdir(join(root, 'bundles/ada/srv_1/server'), { recursive: true })
  writeFileSync(join(root, 'bundles/ada/srv_1/server/index.js'), 'old')
  writeFileSync(join(root, 'bundles/ada/srv_1.json'), '{}')
  await mkdir(join(root, 'bundles/gone', PROGRAM), { recursive: true })
  const copies = unpacker(['ada'])
  copies.tidy()
  await copies.ensure(order('ada'), nothingMore)
  expectWhole('ada')
  expect(existsSync(join(root, 'bundles/gone', PROGRAM))).toBe(false)
  copies.dispose()
})
