/**
 * Prints the bill of materials of the packages in bun.lock as CycloneDX 1.6, JSON:
 *
 *   bun run sbom          what the hub runs with
 *   bun run sbom --dev    what it is built and tested with too
 *
 * The same lock file gives the same bytes: the serial number is made of it, and there is a time only where
 * SOURCE_DATE_EPOCH (seconds) gives one.
 */
import { createHash } from 'node:crypto'
import { Enums, Models, Serialize, SPDX, Spec } from '@cyclonedx/cyclonedx-library'
import { PackageURL } from 'packageurl-js'
import manifest from '../../package.json' with { type: 'json' }
import { type LockedPackage, lockedTree } from './lock-file.ts'

export interface BillOptions {
  readonly dev: boolean
  /** Seconds since 1970. */
  readonly epoch?: number
}

/** The document's text, with a line feed at its end. */
export function billOfMaterials({ dev, epoch }: BillOptions): string {
  const tree = lockedTree({ dev })
  const components = new Map(tree.packages.map(each => [each.key, component(each)]))
  const link = (from: Models.Component, keys: readonly string[]): void => {
    for (const key of keys) {
      const to = components.get(key)
      if (to) from.dependencies.add(to.bomRef)
    }
  }
  for (const each of tree.packages) link(components.get(each.key) as Models.Component, each.needs)
  const project = application()
  link(project, tree.direct)
  const bom = new Models.Bom({
    serialNumber: serialNumber(`${dev ? 'all' : 'production'}\n${manifest.version}\n${tree.text}`),
    metadata: new Models.Metadata({
      component: project,
      ...(epoch === undefined ? {} : { timestamp: new Date(epoch * 1_000) }),
    }),
    components: new Models.ComponentRepository(components.values()),
  })
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6))
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`
}

function application(): Models.Component {
  return new Models.Component(Enums.ComponentType.Application, manifest.name, {
    bomRef: `${manifest.name}@${manifest.version}`,
    version: manifest.version,
    description: manifest.description,
    purl: purl(manifest.name, manifest.version),
    licenses: licences(manifest.license),
  })
}

function component({ key, name, version, integrity, licence }: LockedPackage): Models.Component {
  const [group, short] = name.startsWith('@') ? name.split('/') : [undefined, name]
  return new Models.Component(Enums.ComponentType.Library, short ?? name, {
    bomRef: key === name ? `${name}@${version}` : `${key}@${version}`,
    version,
    purl: purl(name, version),
    licenses: licences(licence),
    hashes: hashes(integrity),
    ...(group === undefined ? {} : { group }),
  })
}

function purl(name: string, version: string): string {
  const [group, short] = name.startsWith('@') ? name.split('/') : [undefined, name]
  return new PackageURL('npm', group, short ?? name, version, undefined, undefined).toString()
}

const ALGORITHMS: Readonly<Record<string, Enums.HashAlgorithm>> = {
  sha512: Enums.HashAlgorithm['SHA-512'],
  sha256: Enums.HashAlgorithm['SHA-256'],
  sha1: Enums.HashAlgorithm['SHA-1'],
}

function hashes(integrity: string): Models.HashDictionary {
  const [name = '', base64 = ''] = integrity.split(/-(.*)/s)
  const algorithm = ALGORITHMS[name]
  if (!algorithm) throw new Error(`bun.lock has an integrity of a kind that is not known: ${name}`)
  return new Models.HashDictionary([[algorithm, Buffer.from(base64, 'base64').toString('hex')]])
}

function licences(licence: string | undefined): Models.LicenseRepository {
  if (licence === undefined) return new Models.LicenseRepository()
  if (SPDX.isSupportedSpdxId(licence)) return new Models.LicenseRepository([new Models.SpdxLicense(licence)])
  if (/ (?:OR|AND|WITH) /.test(licence)) return new Models.LicenseRepository([new Models.LicenseExpression(licence)])
  return new Models.LicenseRepository([new Models.NamedLicense(licence)])
}

/** A UUID of version 8 (RFC 9562), which is what one made of a hash is. */
function serialNumber(text: string): string {
  const hex = [...createHash('sha256').update(text).digest('hex').slice(0, 32)]
  hex[12] = '8'
  hex[16] = ((Number.parseInt(hex[16] ?? '0', 16) & 0x3) | 0x8).toString(16)
  const all = hex.join('')
  return `urn:uuid:${[all.slice(0, 8), all.slice(8, 12), all.slice(12, 16), all.slice(16, 20), all.slice(20)].join('-')}`
}

if (import.meta.main) {
  const wrong = process.argv.slice(2).find(argument => argument !== '--dev')
  if (wrong !== undefined) {
    console.error(`error: usage: "${wrong}" is not known; bun run sbom [--dev]`)
    process.exit(2)
  }
  const epoch = process.env.SOURCE_DATE_EPOCH
  if (epoch !== undefined && !/^\d{1,11}$/.test(epoch)) {
    console.error('error: env_invalid: SOURCE_DATE_EPOCH is no number of seconds since 1970')
    process.exit(2)
  }
  const dev = process.argv.includes('--dev')
  process.stdout.write(billOfMaterials({ dev, ...(epoch === undefined ? {} : { epoch: Number(epoch) }) }))
}
