import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Certificate } from './certificates.ts'
import { makeTemp, removeTemp } from './temp.ts'

export interface Package {
  readonly name: string
  readonly version: string
  readonly manifest: Readonly<Record<string, unknown>>
  readonly files: Readonly<Record<string, string>>
}

/** A registry with the API that npm and Bun use, on 127.0.0.1. */
export interface PackageRegistry {
  readonly url: string
  /** The paths requested so far. */
  readonly asked: readonly string[]
  stop(): Promise<void>
}

/** With `tls` it is one of https. */
export async function startRegistry(packages: readonly Package[], tls?: Certificate): Promise<PackageRegistry> {
  const folder = await makeTemp('registry')
  const tarballs = new Map<string, Buffer>()
  for (const one of packages) tarballs.set(fileOf(one), await pack(folder, one))
  const asked: string[] = []
  const server: Bun.Server<undefined> = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    ...(tls ? { tls } : {}),
    fetch(request): Response {
      const path = decodeURIComponent(new URL(request.url).pathname).slice(1)
      asked.push(path)
      const tarball = tarballs.get(path)
      if (tarball) return new Response(new Uint8Array(tarball))
      const versions = packages.filter(({ name }) => name === path)
      if (versions.length === 0) return Response.json({ error: 'not found' }, { status: 404 })
      return Response.json(packument(server.url.href, versions, tarballs))
    },
  })
  return {
    url: server.url.href,
    asked,
    async stop() {
      await server.stop(true)
      await removeTemp(folder)
    },
  }
}

function fileOf({ name, version }: Package): string {
  return `${name}-${version}.tgz`
}

async function pack(folder: string, one: Package): Promise<Buffer> {
  const root = join(folder, fileOf(one))
  const { name, version, manifest, files } = one
  const all = { ...files, 'package.json': JSON.stringify({ name, version, ...manifest }) }
  for (const [path, text] of Object.entries(all)) {
    const file = join(root, 'package', path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text, { mode: 0o755 })
  }
  const target = `${root}.packed`
  const tar = Bun.spawnSync(['tar', 'czf', target, '-C', root, 'package'])
  if (tar.exitCode !== 0) throw new Error(`tar: ${tar.stderr}`)
  return readFile(target)
}

function packument(url: string, versions: readonly Package[], tarballs: ReadonlyMap<string, Buffer>): object {
  const [first] = versions
  const entries = versions.map(one => {
    const tarball = tarballs.get(fileOf(one)) ?? Buffer.alloc(0)
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
    const { name, version, manifest } = one
    return [version, { name, version, ...manifest, dist: { tarball: `${url}${fileOf(one)}`, integrity } }] as const
  })
  return { name: first?.name, 'dist-tags': { latest: versions.at(-1)?.version }, versions: Object.fromEntries(entries) }
}
