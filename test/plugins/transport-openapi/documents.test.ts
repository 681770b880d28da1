import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonObject } from 'patchbay/contract'
import { beyondCore, extent } from '../../support/extent.ts'
import { atMost } from '../../support/pace.ts'
import { inline, openLink } from './harness.ts'

const FOLDER = join(dirname(Bun.resolveSync('@readme/oas-examples/package.json', import.meta.dir)))
const DOCUMENTS = ['2.0', '3.0', '3.1'].flatMap(version =>
  readdirSync(join(FOLDER, version), { recursive: true, encoding: 'utf8' })
    .filter(name => /\.(?:json|ya?ml)$/.test(name))
    .map(name => join(FOLDER, version, name)),
)

/** The same documents are there in JSON and YAML, some for several versions: each once, one in YAML for each version, no large one. */
const CORE = DOCUMENTS.filter(
  (path, index) =>
    path.endsWith('petstore.yaml') ||
    (path.endsWith('.json') &&
      statSync(path).size < 15_000 &&
      !DOCUMENTS.slice(index + 1).some(later => basename(later) === basename(path))),
)

test('the collection of documents is there', () => {
  expect(DOCUMENTS.length).toBeGreaterThan(120)
})

describe('real documents', () => {
  test.each(extent(CORE, DOCUMENTS).map(path => [relative(FOLDER, path), path]))(
    '%s becomes tools that validators take',
    async (_, path) => {
      const text = readFileSync(path, 'utf8')
      await using open = await openLink(inline(text, 'http://127.0.0.1:9/'))
      const parsed = (path.endsWith('.json') ? JSON.parse(text) : Bun.YAML.parse(text)) as JsonObject
      expect(open.tools).toHaveLength(operationsOf(parsed))
      expect(open.warnings.filter(warning => warning.includes('left out'))).toEqual([])
      // The official client compiles output schemas with the older dialect, newer ones with that of 2020-12.
      const validators = [
        new Ajv({ strict: false, validateFormats: false }),
        new Ajv2020({ strict: false, validateFormats: false }),
      ]
      for (const { name, inputSchema, outputSchema } of open.tools) {
        expect(String(name)).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
        for (const schema of [inputSchema, outputSchema]) {
          if (schema !== undefined) for (const validator of validators) validator.compile(schema as JsonObject)
        }
      }
      expect(new Set(open.tools.map(({ name }) => name)).size).toBe(open.tools.length)
    },
  )
})

beyondCore(() => {
  test('1,200 operations load in under 3 s and under 200 MB', async () => {
    const script = join(import.meta.dir, 'fixtures/load-large.ts')
    for (const form of ['json', 'yaml']) {
      const child = Bun.spawn([process.execPath, script, form], { stdout: 'pipe', stderr: 'inherit' })
      const said = JSON.parse(await new Response(child.stdout).text())
      await child.exited
      expect(said.tools).toBe(1_200)
      expect([form, said.ms < atMost(3_000), said.ms]).toEqual([form, true, said.ms])
      expect([form, said.megabytes < 200, said.megabytes]).toEqual([form, true, said.megabytes])
    }
  }, 120_000)
})

function operationsOf({ paths = {} }: JsonObject): number {
  const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
  return Object.values(paths as JsonObject).reduce<number>((sum, item) => {
    const { $ref } = item as { $ref?: string }
    const found = $ref === undefined ? item : (paths as JsonObject)[$ref.slice(8).replaceAll('~1', '/')]
    return sum + Object.keys(found as JsonObject).filter(method => methods.includes(method)).length
  }, 0)
}
