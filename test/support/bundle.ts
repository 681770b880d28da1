// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of manifests, not template strings
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { packExtension } from '@anthropic-ai/mcpb'
import { type Answer, below, type Client } from './client.ts'
import { noteCodes } from './seen-codes.ts'
import { shutInProgram } from './shut-in.ts'

/** A manifest as `mcpb init` writes it, for a server in Node. */
export const MANIFEST = {
  ...{ manifest_version: '0.3', name: 'shut-in', version: '1.0.0', description: 'Looks around' },
  author: { name: 'Ada' },
  server: {
    ...{ type: 'node', entry_point: 'server/index.js' },
    mcp_config: { command: 'node', args: ['${__dirname}/server/index.js'], env: {} },
  },
} as const

/** Packs a folder with these files as `mcpb pack` does, beside the manifest. Throws when it refuses the manifest. */
export async function packed(manifest: object, files: Readonly<Record<string, string>>): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'patchbay-mcpb-'))
  try {
    for (const [name, text] of Object.entries({ 'manifest.json': JSON.stringify(manifest), ...files })) {
      await mkdir(dirname(join(folder, 'from', name)), { recursive: true })
      await writeFile(join(folder, 'from', name), text)
    }
    const outputPath = join(folder, 'out.mcpb')
    const done = await packExtension({ extensionPath: join(folder, 'from'), outputPath, silent: true })
    if (!done) throw new Error('mcpb did not pack the bundle')
    return await readFile(outputPath)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A bundle whose tools report what their process can see. */
export async function shutInBundle(change: object = {}): Promise<Buffer> {
  return packed({ ...MANIFEST, ...change }, { 'server/index.js': await shutInProgram() })
}

/** Sends bytes to `POST /api/bundles`. */
export async function sendBundle(client: Client, bytes: Uint8Array): Promise<Answer> {
  const response = await fetch(below(client.url, '/api/bundles'), {
    method: 'POST',
    headers: { authorization: `Bearer ${client.token}`, 'content-type': 'application/octet-stream' },
    body: bytes as Uint8Array<ArrayBuffer>,
  })
  const text = await response.text()
  noteCodes(text)
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text)
    },
  }
}
