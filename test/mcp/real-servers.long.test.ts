import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { callText, online, throughHub, toolNames } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'

const NAMES = ['everything', 'filesystem', 'memory', 'sequential-thinking'] as const

let folder = ''
let hub: Hub
let admin: Client
let group: McpClient

function command(name: (typeof NAMES)[number]): { command: string; args: string[]; env: Record<string, string> } {
  const script = join(ROOT, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`)
  return {
    command: process.execPath,
    args: name === 'filesystem' ? [script, join(folder, 'files')] : [script],
    env: { MEMORY_FILE_PATH: join(folder, 'memory.json') },
  }
}

beforeAll(async () => {
  folder = await makeTemp('real')
  await mkdir(join(folder, 'files'))
  await writeFile(join(folder, 'files/hello.txt'), 'hello from a file')
  hub = await startHub({
    settings: {
      mcpServers: Object.fromEntries(NAMES.map(name => [name, { ...command(name), session: 'shared' }])),
      groups: [{ name: 'all', servers: [...NAMES] }],
    },
  })
  admin = await hub.setup()
  await online(admin, NAMES, 60_000)
  group = await admin.mcp('/mcp/all')
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await removeTemp(folder)
}, 120_000)

/** A client on the server's own pipes, without a hub and without capabilities. */
async function direct(name: (typeof NAMES)[number]): Promise<McpClient> {
  const client = new McpClient({ name: 'direct', version: '1.0.0' })
  const { env, ...rest } = command(name)
  await client.connect(
    new StdioClientTransport({ ...rest, env: { PATH: process.env.PATH ?? '', ...env }, stderr: 'ignore' }),
  )
  return client
}

describe('each server through the hub offers what it offers directly', () => {
  for (const name of NAMES) {
    test(`${name}: the same tools, prompts, resources and templates`, async () => {
      const own = await direct(name)
      try {
        const through = await admin.mcp(`/mcp/${name}`)
        const capabilities = own.getServerCapabilities()
        expect((await through.listTools()).tools).toEqual(throughHub((await own.listTools()).tools))
        if (capabilities?.prompts)
          expect((await through.listPrompts()).prompts).toEqual((await own.listPrompts()).prompts)
        if (capabilities?.resources) {
          expect((await through.listResources()).resources).toEqual((await own.listResources()).resources)
          expect((await through.listResourceTemplates()).resourceTemplates).toEqual(
            (await own.listResourceTemplates()).resourceTemplates,
          )
        }
      } finally {
        await own.close()
      }
    }, 120_000)
  }
})

test('a group of four has every tool of all of them under its own name, as no two collide', async () => {
  const names = await toolNames(group)
  expect(names).toHaveLength(new Set(names).size)
  for (const expected of ['echo', 'get-sum', 'read_text_file', 'list_directory', 'read_graph', 'sequentialthinking']) {
    expect(names).toContain(expected)
  }
  expect(names.filter(name => /file|directory|director/.test(name)).length).toBeGreaterThanOrEqual(13)
  const counts = await Promise.all(NAMES.map(async name => (await toolNames(await admin.mcp(`/mcp/${name}`))).length))
  expect(counts.slice(1)).toEqual([14, 9, 1])
  expect(names).toHaveLength(counts.reduce((sum, count) => sum + count, 0))
})

test('calls of all four reach the server that has the tool', async () => {
  expect(await callText(group, 'echo', { message: 'hi' })).toContain('hi')
  expect(await callText(group, 'get-sum', { a: 2, b: 40 })).toContain('42')
  expect(await callText(group, 'read_text_file', { path: join(folder, 'files/hello.txt') })).toBe('hello from a file')
  expect(await callText(group, 'list_directory', { path: join(folder, 'files') })).toContain('hello.txt')
  const entities = [{ name: 'Patchbay', entityType: 'hub', observations: ['serves groups'] }]
  await callText(group, 'create_entities', { entities })
  expect(await callText(group, 'read_graph')).toContain('serves groups')
  const thought = { thought: 'think', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }
  expect(await callText(group, 'sequentialthinking', thought)).toContain('thoughtNumber')
})

test('every read-only tool of filesystem, memory and sequential-thinking can be called through their group', async () => {
  const files = join(folder, 'files')
  const file = { path: join(files, 'hello.txt') }
  const args: Readonly<Record<string, Record<string, unknown>>> = {
    read_file: file,
    read_text_file: file,
    read_media_file: file,
    read_multiple_files: { paths: [file.path] },
    list_directory: { path: files },
    list_directory_with_sizes: { path: files },
    directory_tree: { path: files },
    search_files: { path: files, pattern: '*.txt' },
    get_file_info: file,
    list_allowed_directories: {},
    read_graph: {},
    search_nodes: { query: 'hub' },
    open_nodes: { names: ['Patchbay'] },
    sequentialthinking: { thought: 'think', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
  }
  const others = new Set(await toolNames(await admin.mcp('/mcp/everything')))
  const { tools } = await group.listTools()
  const readOnly = tools.filter(({ name, annotations }) => annotations?.readOnlyHint && !others.has(name))
  expect(readOnly.map(({ name }) => name)).toEqual(Object.keys(args))
  const results = await Promise.all(
    Object.entries(args).map(async ([name, given]) => ({
      name,
      isError: (await group.callTool({ name, arguments: given })).isError ?? false,
    })),
  )
  expect(results.filter(({ isError }) => isError)).toEqual([])
})

test('a tool that fails answers with isError, and its text comes through as it is', async () => {
  const result = await group.callTool({ name: 'read_text_file', arguments: { path: '/etc/hostname' } })
  expect(result.isError).toBe(true)
  expect(JSON.stringify(result.content)).toContain('denied')
})

test('structured content, images and resource links come through unchanged', async () => {
  const own = await direct('everything')
  try {
    const calls = [
      { name: 'get-tiny-image', arguments: {} },
      { name: 'get-structured-content', arguments: { location: 'New York' } },
      { name: 'get-resource-links', arguments: { count: 3 } },
      { name: 'get-annotated-message', arguments: { messageType: 'error', includeImage: false } },
    ]
    const through = await admin.mcp('/mcp/everything')
    for (const call of calls) {
      expect(await through.callTool(call)).toEqual(await own.callTool(call))
    }
  } finally {
    await own.close()
  }
}, 120_000)

test('prompts are got and resources read through the group', async () => {
  const prompt = await group.getPrompt({ name: 'args-prompt', arguments: { city: 'Paris' } })
  expect(JSON.stringify(prompt.messages)).toContain('Paris')
  const { resources } = await group.listResources()
  const [first] = resources.filter(resource => resource.mimeType?.startsWith('text/'))
  const { contents } = await group.readResource({ uri: first?.uri ?? '' })
  expect(contents[0]?.uri).toBe(first?.uri ?? '')
})

test('completion reaches the server that has the prompt', async () => {
  const { completion } = await group.complete({
    ref: { type: 'ref/prompt', name: 'completable-prompt' },
    argument: { name: 'department', value: 'E' },
  })
  expect(completion.values).toContain('Engineering')
})
