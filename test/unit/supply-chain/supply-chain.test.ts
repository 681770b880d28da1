import { describe, expect, test } from 'bun:test'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Ajv from 'ajv'
import manifest from '../../../package.json' with { type: 'json' }
import { refusedLicences } from '../../support/licences.ts'
import { lockedTree } from '../../support/lock-file.ts'
import { billOfMaterials } from '../../support/sbom.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

const ROOT = join(import.meta.dir, '../../..')
const SCHEMAS = join(ROOT, 'node_modules/@cyclonedx/cyclonedx-library/res/schema')

async function schema(name: string): Promise<object> {
  return JSON.parse(await readFile(join(SCHEMAS, `${name}.SNAPSHOT.schema.json`), 'utf8'))
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await makeTemp('packages')
  try {
    await work(folder)
  } finally {
    await removeTemp(folder)
  }
}

async function bun(cwd: string, ...args: string[]): Promise<{ code: number; text: string }> {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd,
    // Bun would keep its cache of sources in the home folder.
    env: { PATH: process.env.PATH ?? '', HOME: cwd, BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, text: out + err }
}

describe('the bill of materials', () => {
  test.each([false, true])(
    'is valid CycloneDX 1.6 and names each package of the lock file once (dev: %p)',
    async dev => {
      const bill = JSON.parse(billOfMaterials({ dev, epoch: 1_700_000_000 }))
      const ajv = new Ajv({ strict: false, validateFormats: false })
      ajv.addSchema(await schema('spdx'), 'http://cyclonedx.org/schema/spdx.SNAPSHOT.schema.json')
      ajv.addSchema(await schema('jsf-0.82'), 'http://cyclonedx.org/schema/jsf-0.82.SNAPSHOT.schema.json')
      const valid = ajv.compile(await schema('bom-1.6'))
      expect([valid(bill), valid.errors]).toEqual([true, null])
      expect(valid({ ...bill, components: [{ type: 'library' }] })).toBe(false)

      const { packages, direct } = lockedTree({ dev })
      const text = (parts: readonly (string | undefined)[]) => parts.filter(Boolean).join('/')
      const named = bill.components.map((one: { group?: string; name: string; version: string }) => {
        return `${text([one.group, one.name])}@${one.version}`
      })
      expect(named.toSorted()).toEqual(packages.map(({ name, version }) => `${name}@${version}`).toSorted())
      const hono = bill.components.find((one: { name: string }) => one.name === 'hono')
      const locked = packages.find(({ key }) => key === 'hono')
      expect(hono).toMatchObject({
        purl: `pkg:npm/hono@${manifest.dependencies.hono}`,
        licenses: [{ license: { id: 'MIT' } }],
        hashes: [{ alg: 'SHA-512', content: Buffer.from(locked?.integrity.slice(7) ?? '', 'base64').toString('hex') }],
      })
      const own = bill.dependencies.find((one: { ref: string }) => one.ref === `patchbay@${manifest.version}`)
      expect(own.dependsOn).toHaveLength(direct.length)
    },
  )

  test('is the same bytes at each run, with a time only where SOURCE_DATE_EPOCH gives one', async () => {
    const once = await bun(ROOT, 'test/support/sbom.ts')
    expect(once).toEqual({ code: 0, text: billOfMaterials({ dev: false }) })
    expect(JSON.parse(once.text).metadata.timestamp).toBeUndefined()
    expect(JSON.parse(billOfMaterials({ dev: false, epoch: 0 })).metadata.timestamp).toBe('1970-01-01T00:00:00.000Z')
    expect(JSON.parse(billOfMaterials({ dev: true })).serialNumber).not.toBe(JSON.parse(once.text).serialNumber)
  })
})

test('everything that the hub runs with has a permissive licence, and one that has not is refused', () => {
  const { packages } = lockedTree({ dev: false })
  expect(packages.length).toBeGreaterThan(50)
  expect(refusedLicences(packages)).toEqual([])
  const [any] = packages
  if (!any) throw new Error('There is no package')
  const refused = (licence: string) => refusedLicences([{ ...any, licence }]).length === 1
  const wrong = [
    'GPL-3.0-only',
    'AGPL-3.0',
    'SEE LICENSE IN LICENSE',
    'NOASSERTION',
    'MIT AND GPL-2.0',
    'MIT OR (A AND B)',
  ]
  expect(wrong.filter(licence => !refused(licence))).toEqual([])
  expect(['MIT', '(MIT OR GPL-3.0)', 'MIT AND Zlib'].filter(refused)).toEqual([])
})

describe('packages', () => {
  test('have exact versions, and none may run scripts', () => {
    const all = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    expect(
      all.filter(([, version]) => !/^(?:npm:@[\w.-]+\/[\w.-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)),
    ).toEqual([])
    expect(manifest.trustedDependencies).toEqual([])
  })

  test(
    'a lock file that says another thing than package.json is refused',
    () =>
      inFolder(async folder => {
        await copyFile(join(ROOT, 'bun.lock'), join(folder, 'bun.lock'))
        const frozen = () => bun(folder, 'install', '--frozen-lockfile', '--dry-run')
        await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
        expect(await frozen()).toMatchObject({ code: 0 })
        const other = { ...manifest, dependencies: { ...manifest.dependencies, hono: '4.0.0' } }
        await writeFile(join(folder, 'package.json'), JSON.stringify(other))
        const refused = await frozen()
        expect(refused.code).not.toBe(0)
        expect(refused.text).toMatch(/lockfile had changes|frozen/)
      }),
    30_000,
  )

  test(
    'a package that comes with an install script does not get to run it',
    () =>
      inFolder(async folder => {
        const tried = async (trustedDependencies: readonly string[]): Promise<boolean> => {
          const project = join(folder, trustedDependencies.length > 0 ? 'trusting' : 'ours')
          await mkdir(join(project, 'eager'), { recursive: true })
          const scripts = { postinstall: `echo ran > ${JSON.stringify(join(project, 'ran'))}` }
          const eager = { name: 'eager', version: '1.0.0', scripts }
          await writeFile(join(project, 'eager/package.json'), JSON.stringify(eager))
          const own = { name: 'own', dependencies: { eager: 'file:./eager' }, trustedDependencies }
          await writeFile(join(project, 'package.json'), JSON.stringify(own))
          expect(await bun(project, 'install')).toMatchObject({ code: 0 })
          return Bun.file(join(project, 'ran')).exists()
        }
        expect(await tried(['eager'])).toBe(true)
        expect(await tried(manifest.trustedDependencies)).toBe(false)
      }),
    30_000,
  )
})
