// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of manifests, not template strings
/** Bundles that nobody should unpack: each is refused, nothing of it is kept, and the hub answers meanwhile. */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { signMcpbFile } from '@anthropic-ai/mcpb'
import { MANIFEST, packed, sendBundle } from '../../support/bundle.ts'
import { extent } from '../../support/extent.ts'
import { type Client, type Hub, send, startHub } from '../../support/hub.ts'
import { type ZipEntry, zipOf } from '../../support/zip.ts'

let hub: Hub
let ada: Client
beforeAll(async () => {
  hub = await startHub()
  await hub.setup()
  ada = await hub.user('ada')
  ada.patient = true
}, 120_000)
afterAll(() => hub.stop(), 120_000)

const manifest: ZipEntry = { name: 'manifest.json', content: JSON.stringify(MANIFEST) }
const withEntry = (entry: ZipEntry) => zipOf([manifest, entry])
const withManifest = (text: string | Buffer) => zipOf([{ name: 'manifest.json', content: text }])
const changed = (change: object) => withManifest(JSON.stringify({ ...MANIFEST, ...change }))

const HOSTILE: readonly (readonly [what: string, make: () => Buffer, says: string])[] = [
  ['a climbing name', () => withEntry({ name: '../evil.txt', content: 'x' }), 'relative'],
  ['a climbing name inside', () => withEntry({ name: 'a/../../evil.txt', content: 'x' }), 'relative'],
  ['an absolute name', () => withEntry({ name: '/etc/evil', content: 'x' }), 'absolute'],
  ['a drive', () => withEntry({ name: 'C:/evil', content: 'x' }), 'absolute'],
  ['backslashes', () => withEntry({ name: '..\\evil', content: 'x' }), 'characters'],
  ['an empty part', () => withEntry({ name: 'a//b', content: 'x' }), 'empty'],
  ['a dot part', () => withEntry({ name: './b', content: 'x' }), 'empty'],
  ['a NUL in a name', () => withEntry({ name: 'a\0b', content: 'x' }), 'characters'],
  ['a line end in a name', () => withEntry({ name: 'a\nb', content: 'x' }), 'characters'],
  ['a name that is no UTF-8', () => withEntry({ name: Buffer.from([0x61, 0xff, 0xfe]), content: 'x' }), 'characters'],
  ['a name in the other direction', () => withEntry({ name: 'a\u202etxt.js', content: 'x' }), 'characters'],
  ['a name of 300 bytes', () => withEntry({ name: 'x'.repeat(300), content: 'x' }), 'too long'],
  ['33 folders', () => withEntry({ name: `${'a/'.repeat(33)}b`, content: 'x' }), 'deep'],
  ['a symbolic link', () => withEntry({ name: 'link', content: '/etc/passwd', mode: 0o120777 }), 'link'],
  ['a device', () => withEntry({ name: 'dev', mode: 0o020666 }), 'special'],
  ['a pipe', () => withEntry({ name: 'pipe', mode: 0o010666 }), 'special'],
  ['setuid', () => withEntry({ name: 'su', content: 'x', mode: 0o104755 }), 'special mode'],
  ['a folder that is called a file', () => withEntry({ name: 'folder', mode: 0o040755 }), 'folder'],
  ['encryption', () => withEntry({ name: 'a', content: 'x', flags: 0x801 }), 'encrypted'],
  ['another compression', () => withEntry({ name: 'a', content: 'x', method: 12 }), 'method 12'],
  ['two manifests', () => zipOf([manifest, manifest]), 'twice'],
  ['one name in two letter cases', () => zipOf([manifest, { name: 'A.js' }, { name: 'a.js' }]), 'twice'],
  ['one name in two Unicode forms', () => zipOf([manifest, { name: 'é.js' }, { name: 'e\u0301.js' }]), 'twice'],
  ['a file that is a folder too', () => zipOf([manifest, { name: 'a' }, { name: 'a/b' }]), 'file'],
  ['a folder that is a file too', () => zipOf([manifest, { name: 'a/b' }, { name: 'a' }]), 'twice'],
  ['5,001 entries', () => zipOf([manifest, ...Array.from({ length: 5_000 }, (_, at) => ({ name: `${at}` }))]), '5000'],
  ['a size that is too small', () => withEntry({ name: 'a', content: 'x'.repeat(5_000), saysBytes: 10 }), 'zip'],
  ['a size that is too large', () => withEntry({ name: 'a', content: 'x', saysBytes: 5_000 }), 'zip'],
  ['a checksum that is wrong', () => withEntry({ name: 'a', content: 'x'.repeat(5_000), saysCrc: 7 }), 'checksum'],
  ['a checksum of nothing', () => withEntry({ name: 'a', content: 'x', method: 0, saysCrc: 0 }), 'checksum'],
  ['a bomb', () => withEntry({ name: 'a', content: Buffer.alloc(8 * 1024 * 1024) }), 'inflates'],
  [
    'entries that share their bytes',
    () =>
      zipOf([
        { name: 'a', content: Buffer.alloc(1024 * 1024, 'x') },
        ...Array.from({ length: 2_000 }, (_, at) => ({ name: `b${at}`, overlaps: true })),
      ]),
    'inflates',
  ],
  ['no manifest', () => zipOf([{ name: 'readme.txt', content: 'x' }]), 'no manifest.json'],
  ['a manifest in a folder alone', () => zipOf([{ name: 'x/manifest.json', content: '{}' }]), 'no manifest.json'],
  ['a manifest that is no JSON', () => withManifest('{'), 'cannot be read'],
  ['a manifest that is no UTF-8', () => withManifest(Buffer.from([0x7b, 0xff, 0x7d])), 'no UTF-8'],
  ['a manifest that is a list', () => withManifest('[]'), 'no object'],
  ['a manifest of 300 KB', () => withManifest(`{"a":"${'x'.repeat(300_000)}"}`), '262144 bytes'],
  ['a manifest of a thousand levels', () => withManifest(`{"a":${'['.repeat(1_000)}${']'.repeat(1_000)}}`), 'nested'],
  ['a manifest with __proto__', () => withManifest('{"__proto__":{"name":"x"}}'), '__proto__'],
  ['a later manifest', () => changed({ manifest_version: '9.9' }), '9.9'],
  ['a server of no kind', () => changed({ server: { type: 'shell' } }), '/server/type'],
  ['no command', () => changed({ server: { type: 'node', entry_point: 'x' } }), 'mcp_config'],
  ['no zip', () => Buffer.from('#!/bin/sh\nrm -rf /\n'), 'zip'],
  ['nothing', () => Buffer.alloc(0), 'zip'],
  ['a zip that is cut', () => withEntry({ name: 'a', content: 'x'.repeat(999) }).subarray(0, -40), 'zip'],
  ['something behind the zip', () => Buffer.concat([zipOf([manifest]), Buffer.from('x')]), 'zip'],
  ['a gzip bomb', () => Buffer.from(Bun.gzipSync(new Uint8Array(1024 * 1024))), 'zip'],
]

describe('a bundle with', () => {
  test.each(HOSTILE)('%s is refused, and nothing is kept', async (_, make, says) => {
    const answer = await sendBundle(ada, make())
    expect([answer.status, answer.json.code]).toEqual([400, 'bundle_invalid'])
    expect(answer.json.detail).toContain(says)
    expect((await ada.ok('GET', '/api/bundles')).items).toEqual([])
  })
})

const MIB = 1024 * 1024
/** Files of this many MiB each, which share their packed bytes. */
const heavy = (mib: number, files = 1): ZipEntry[] =>
  Array.from({ length: files }, (_, at) =>
    at === 0 ? { name: 'h0', content: Buffer.alloc(mib * MIB) } : { name: `h${at}`, overlaps: true },
  )
/** This many MiB that cannot be compressed, which keep an archive below the usual ratio. */
const padding = (mib: number): ZipEntry => ({ name: 'padding', content: randomBytes(mib * MIB), method: 0 })

const DISK_BYTES = 1_024 * MIB
const used = async (client: Client, limit: string): Promise<number> =>
  (await client.ok('GET', '/api/limits')).items.find((one: { name: string }) => one.name === limit).used

function change(sql: string): void {
  const db = new Database(join(hub.dataDir, 'patchbay.db'), { readwrite: true })
  db.run('pragma busy_timeout = 5000')
  db.run(sql)
  db.close()
}

describe('bytes of a bundle and its files count for its sender', () => {
  test('its files count as whole blocks of the disk, and go with the bundle', async () => {
    const files = Array.from({ length: 200 }, (_, at) => ({ name: `f/${at}`, content: `${at}` }))
    const { status, json } = await sendBundle(ada, zipOf([manifest, ...files]))
    expect(status).toBe(201)
    // 200 files, the manifest, and one folder.
    expect(json.unpackedBytes).toBe(202 * 4_096)
    expect(await used(ada, 'diskBytesPerUser')).toBeGreaterThanOrEqual(json.bytes + json.unpackedBytes)
    expect(await used(ada, 'storedBytesPerUser')).toBe(0)
    await ada.ok('DELETE', `/api/bundles/${json.bundleId}`)
    expect(await used(ada, 'diskBytesPerUser')).toBe(0)
  })

  test('an ordinary one with its packages is accepted, and leaves servers and documents their room', async () => {
    const mib = extent(16, 40)
    const { status, json } = await sendBundle(ada, zipOf([...heavy(10, 12), manifest, padding(mib)]))
    expect([status, json.bytes > mib * MIB, json.unpackedBytes]).toEqual([201, true, (120 + mib) * MIB + 4_096])
    expect(await used(ada, 'storedBytesPerUser')).toBe(0)
    await ada.ok('DELETE', `/api/bundles/${json.bundleId}`)
  }, 60_000)

  test('beyond the limit one is refused, by its own bytes or by those of its files, and nothing of it is kept', async () => {
    const large = (version: number, files: number, mib: number) => {
      const text = JSON.stringify({ ...MANIFEST, version: `2.0.${version}` })
      return zipOf([...heavy(10, files), { name: 'manifest.json', content: text }, padding(mib)])
    }
    const all = extent(1, 4)
    for (let version = 0; version < all; version += 1)
      expect((await sendBundle(ada, large(version, extent(2, 24), extent(1, 3)))).status).toBe(201)
    // Reading a GiB takes seconds: the suite has one bundle in place of four of the largest.
    if (all === 1) change(`update plugin_bundles__files set unpacked_bytes = ${990 * MIB}`)
    const before = await used(ada, 'diskBytesPerUser')
    const refused = await sendBundle(ada, zipOf([...heavy(10, 8), manifest, padding(1)]))
    expect([refused.status, refused.json.code]).toEqual([409, 'quota_stored_bytes'])
    expect(refused.json.detail).toContain(`${DISK_BYTES} bytes, packed and unpacked (diskBytesPerUser)`)
    expect(refused.json.hint).toContain('bundles')
    // The packed bytes alone.
    expect((await sendBundle(ada, zipOf([manifest, padding(34)]))).json.code).toBe('quota_stored_bytes')
    expect(await used(ada, 'diskBytesPerUser')).toBe(before)
    const db = new Database(join(hub.dataDir, 'patchbay.db'), { readonly: true })
    expect(db.query('select count(distinct sha256) as count from plugin_bundles__parts').get()).toEqual({ count: all })
    db.close()
    for (const { bundleId } of (await ada.ok('GET', '/api/bundles')).items)
      await ada.ok('DELETE', `/api/bundles/${bundleId}`)
  }, 120_000)
})

test('a bundle over 64 MiB is refused before it is read', async () => {
  const answer = await sendBundle(ada, Buffer.alloc(64 * 1024 * 1024 + 1))
  expect([answer.status, answer.json.code]).toEqual([413, 'bundle_too_large'])
})

test('without a credential nothing is read', async () => {
  const answer = await send(hub.url, 'POST', '/api/bundles', 'x')
  expect([answer.status, answer.json.code]).toEqual([401, 'unauthenticated'])
})

describe('a manifest', () => {
  test.each([['0.1'], ['0.2'], ['0.3'], ['0.4']])('of version %s is read', async version => {
    const { status, json } = await sendBundle(ada, changed({ manifest_version: version }))
    expect([status, json.manifestVersion, json.usable]).toEqual([201, version, true])
    await ada.ok('DELETE', `/api/bundles/${json.bundleId}`)
  })

  test('with dxt_version is read, as the older tools wrote it', async () => {
    const { status, json } = await sendBundle(ada, changed({ manifest_version: undefined, dxt_version: '0.1' }))
    expect([status, json.manifestVersion]).toEqual([201, '0.1'])
    await ada.ok('DELETE', `/api/bundles/${json.bundleId}`)
  })

  test('for other platforms says so, and is not installed', async () => {
    const { json } = await sendBundle(ada, changed({ compatibility: { platforms: ['win32'] } }))
    expect([json.usable, json.why]).toEqual([false, expect.stringContaining('win32')])
    const answer = await ada.request('POST', `/api/bundles/${json.bundleId}/install?dryRun=true`, {})
    expect([answer.status, answer.json.code]).toEqual([409, 'bundle_unusable'])
    await ada.ok('DELETE', `/api/bundles/${json.bundleId}`)
  })

  test('for uv has a pyproject.toml beside it and a file to run, and its command is the hub’s', async () => {
    const manifest_ = (server: object) => JSON.stringify({ ...MANIFEST, manifest_version: '0.4', server })
    const project = { name: 'pyproject.toml', content: '[project]\nname = "x"\nversion = "1"\n' }
    const send_ = (server: object, ...more: ZipEntry[]) =>
      sendBundle(ada, zipOf([{ name: 'manifest.json', content: manifest_(server) }, ...more]))
    const uv = { type: 'uv', entry_point: 'src/server.py' }
    const refused = [
      await send_(uv),
      await send_(uv, { ...project, name: 'src/pyproject.toml' }),
      await send_({ type: 'uv' }, project),
      await send_({ type: 'uv', entry_point: '--with=evil' }, project),
    ]
    expect(refused.map(({ json }) => json.code)).toEqual(Array(4).fill('bundle_invalid'))
    expect(refused[0]?.json.detail).toContain('pyproject.toml')
    const { status, json } = await send_(uv, project)
    expect(status).toBe(201)
    const planned = await ada.request('POST', `/api/bundles/${json.bundleId}/install?dryRun=true`, {})
    if (planned.status === 200) {
      expect(planned.json.argv).toEqual(['uv', 'run', '--directory', '/opt/package', 'src/server.py'])
      const isHere = Bun.which('uv', { PATH: '/usr/local/bin:/usr/bin:/bin' }) !== null
      expect(planned.json.warnings.join().includes('no "uv"')).toBe(!isHere)
    } else expect(planned.json.code).toBe('stdio_not_permitted')
    await ada.ok('DELETE', `/api/bundles/${json.bundleId}`)
  })

  test('that starts a package runner is not installed', async () => {
    const server = { type: 'node', entry_point: 'x', mcp_config: { command: 'npx', args: ['-y', 'some-package'] } }
    const { json } = await sendBundle(ada, changed({ server }))
    const answer = await ada.request('POST', `/api/bundles/${json.bundleId}/install?dryRun=true`, {})
    expect([answer.status, answer.json.code]).toEqual([409, 'bundle_unusable'])
    await ada.ok('DELETE', `/api/bundles/${json.bundleId}`)
  })

  test('refuses inputs that are not what it asks for, each by its name', async () => {
    const option = (type: string, more: object = {}) => ({ type, title: 'T', description: 'D', ...more })
    const user_config = {
      number: option('number', { min: 1, max: 5 }),
      flag: option('boolean'),
      path: option('file'),
      word: option('string'),
    }
    const mcp_config = { command: 'node', args: ['${user_config.word}', '${user_config.number}'] }
    const { json } = await sendBundle(ada, changed({ user_config, server: { ...MANIFEST.server, mcp_config } }))
    const refused = async (inputs: object) => {
      const answer = await ada.request('POST', `/api/bundles/${json.bundleId}/install?dryRun=true`, { inputs })
      return [answer.status, answer.json.errors?.[0]?.pointer, answer.json.errors?.[0]?.code]
    }
    expect(await refused({ number: 9 })).toEqual([400, '#/inputs/number', 'range'])
    expect(await refused({ number: 'x' })).toEqual([400, '#/inputs/number', 'range'])
    expect(await refused({ flag: 'yes' })).toEqual([400, '#/inputs/flag', 'range'])
    expect(await refused({ path: '/etc/passwd' })).toEqual([400, '#/inputs/path', 'range'])
    expect(await refused({ path: '../x' })).toEqual([400, '#/inputs/path', 'range'])
    expect(await refused({ word: ['a', 'b'] })).toEqual([400, '#/inputs/word', 'type'])
    expect(await refused({ word: 'a\0b' })).toEqual([400, '#/inputs/word', 'range'])
    expect(await refused({ word: '--help' })).toEqual([400, '#/inputs/word', 'range'])
    expect(await refused({ other: 'x' })).toEqual([400, '#/inputs/other', 'unknown_field'])
    await ada.ok('DELETE', `/api/bundles/${json.bundleId}`)
  })
})

test('a signed bundle is read without its signature, which is not checked', async () => {
  const file = join(hub.dataDir, 'signed.mcpb')
  const key = join(hub.dataDir, 'key.pem')
  const certificate = join(hub.dataDir, 'certificate.pem')
  const openssl = ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=Ada', '-days', '2']
  const made = Bun.spawnSync([...openssl, '-keyout', key, '-out', certificate], { stderr: 'pipe' })
  expect(made.exitCode).toBe(0)
  await writeFile(file, await packed(MANIFEST, { 'server/index.js': '' }))
  signMcpbFile(file, certificate, key)
  const { status, json } = await sendBundle(ada, await readFile(file))
  expect([status, json.signature]).toEqual([201, 'not-checked'])
  await ada.ok('DELETE', `/api/bundles/${json.bundleId}`)
})

test('a user has ten bundles, and the same file is one of them', async () => {
  const numbered = (at: number) => changed({ version: `1.0.${at}` })
  const ids = new Set<string>()
  for (let at = 0; at < 10; at += 1) ids.add((await sendBundle(ada, numbered(at))).json.bundleId)
  expect([ids.size, (await sendBundle(ada, numbered(3))).status]).toEqual([10, 201])
  const answer = await sendBundle(ada, numbered(10))
  expect([answer.status, answer.json.code]).toEqual([409, 'quota_bundles'])
  for (const id of ids) await ada.ok('DELETE', `/api/bundles/${id}`)
})

test('parts of a bundle that a killed hub left are removed at the next start, and whole bundles stay', async () => {
  const { json } = await sendBundle(ada, zipOf([manifest]))
  const lost = 'a'.repeat(64)
  change(
    `insert into plugin_bundles__parts (sha256, part, content) values ('${lost}', 0, zeroblob(100)), ('${lost}', 1, x'00')`,
  )
  await hub.stop({ keep: true })
  hub = await startHub({ folder: hub.folder })
  const db = new Database(join(hub.dataDir, 'patchbay.db'), { readonly: true })
  expect(db.query('select distinct sha256 from plugin_bundles__parts').all()).toEqual([{ sha256: json.bundleId }])
  db.close()
})
