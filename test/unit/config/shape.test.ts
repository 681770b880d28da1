import { describe, expect, test } from 'bun:test'
import { readJsonc } from '../../../core/config/jsonc.ts'
import { NO_ADDITIONS } from '../../../core/config/shape/additions.ts'
import { DuplicateEntry, type FileEntries, readSettings } from '../../../core/config/shape/settings.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { ENTRY_FIELDS } from '../../../core/hub/bundled-fields.ts'
import type { FileState } from '../../../core/registry/api.ts'
import { REMOTE_CONFIG_SCHEMA } from '../../../core/transport-kit/remote.ts'
import { openapiTransport } from '../../../plugins/transport-openapi/plugin.ts'
import { stdioTransport } from '../../../plugins/transport-stdio/plugin.ts'

const additions = { ...NO_ADDITIONS, fields: ENTRY_FIELDS }
const read = (text: string) => readSettings(readJsonc(text).value as JsonObject, additions)
/** The registry's mirror takes what this reads. */
const mirrored = (entries: FileEntries): FileState => entries

interface RealFile {
  readonly name: string
  readonly text: string
  readonly servers: FileEntries['servers']
  readonly warnings?: readonly string[]
}

const FILES: readonly RealFile[] = [
  {
    name: 'Claude Desktop',
    text: `{
      "mcpServers": {
        "filesystem": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ada/Desktop"]
        },
        "brave-search": {
          "command": "npx", "args": ["-y", "@modelcontextprotocol/server-brave-search"],
          "env": { "BRAVE_API_KEY": "x" }
        }
      }
    }`,
    servers: [
      {
        name: 'filesystem',
        body: {
          name: 'filesystem',
          command: 'npx',
          args: ['-y', '@modelcontextprotocol/server-filesystem', '/Users/ada/Desktop'],
        },
      },
      {
        name: 'brave-search',
        body: {
          name: 'brave-search',
          command: 'npx',
          args: ['-y', '@modelcontextprotocol/server-brave-search'],
          env: { BRAVE_API_KEY: 'x' },
        },
      },
    ],
  },
  {
    name: 'Cursor',
    text: `{
      "mcpServers": {
        "remote": { "url": "https://api.example.com/mcp", "headers": { "Authorization": "Bearer x" } },
        "python": { "type": "stdio", "command": "python", "args": ["server.py"], "envFile": ".env", "env": { "PORT": 3000, "DEBUG": true } }
      }
    }`,
    servers: [
      {
        name: 'remote',
        body: { name: 'remote', url: 'https://api.example.com/mcp', headers: { Authorization: 'Bearer x' } },
      },
      {
        name: 'python',
        body: {
          name: 'python',
          transport: 'stdio',
          command: 'python',
          args: ['server.py'],
          env: { PORT: '3000', DEBUG: 'true' },
        },
      },
    ],
    warnings: ['envFile'],
  },
  {
    name: 'VS Code',
    text: `{
      // .vscode/mcp.json
      "inputs": [{ "type": "promptString", "id": "key", "password": true }],
      "servers": {
        "github": { "type": "http", "url": "https://api.githubcopilot.com/mcp/", },
        "legacy": { "type": "sse", "url": "http://localhost:8000/sse" },
        "playwright": { "command": "npx", "args": ["-y", "@microsoft/mcp-server-playwright"], "dev": { "watch": "src" } }
      }
    }`,
    servers: [
      {
        name: 'github',
        body: { name: 'github', transport: 'streamable-http', url: 'https://api.githubcopilot.com/mcp/' },
      },
      { name: 'legacy', body: { name: 'legacy', transport: 'sse', url: 'http://localhost:8000/sse' } },
      {
        name: 'playwright',
        body: { name: 'playwright', command: 'npx', args: ['-y', '@microsoft/mcp-server-playwright'] },
      },
    ],
    warnings: ['dev'],
  },
  {
    name: 'Windsurf and Gemini',
    text: `{ "mcpServers": {
      "w": { "serverUrl": "https://w.example/mcp" },
      "g": { "httpUrl": "https://g.example/mcp", "timeout": 600000, "trust": true, "excludeTools": ["rm"] }
    } }`,
    servers: [
      { name: 'w', body: { name: 'w', url: 'https://w.example/mcp' } },
      {
        name: 'g',
        body: {
          name: 'g',
          url: 'https://g.example/mcp',
          transport: 'streamable-http',
          timeout: 600_000,
          tools: { rm: { enabled: false } },
        },
      },
    ],
    warnings: ['trust'],
  },
  {
    name: 'Cline, which counts the timeout in seconds',
    text: `{ "mcpServers": { "c": { "command": "c", "args": [], "disabled": true, "autoApprove": ["x"], "timeout": 60 } } }`,
    servers: [{ name: 'c', body: { name: 'c', command: 'c', args: [], enabled: false, timeout: 60_000 } }],
  },
  {
    name: 'an existing hub',
    text: `{
      "mcpServers": {
        "amap": {
          "type": "streamableHttp", "url": "https://mcp.amap.example/mcp", "enabled": true, "owner": "admin",
          "keepAliveInterval": 60000, "options": { "timeout": 30000, "resetTimeoutOnProgress": true, "maxTotalTimeout": 120000 },
          "tools": { "amap-maps_geo": { "enabled": false, "description": "d" } }
        },
        "petstore": { "type": "openapi", "openapi": { "url": "https://petstore.example/openapi.json", "version": "3.1.0" } },
        "alice::time": { "command": "uvx", "args": ["mcp-server-time"] }
      },
      "users": [{ "username": "admin", "password": "$2b$10$abcdefghijklmnopqrstuv", "isAdmin": true }],
      "groups": [
        { "id": "6f1c", "name": "maps", "description": "m", "servers": ["amap", { "name": "petstore", "tools": ["getPet"] }], "owner": "admin" },
        { "name": "team", "servers": ["alice::time"] }
      ],
      "systemConfig": { "routing": { "enableGlobalRoute": true }, "logLevel": "debug" },
      "bearerKeys": []
    }`,
    servers: [
      {
        owner: 'admin',
        name: 'amap',
        body: {
          name: 'amap',
          transport: 'streamable-http',
          url: 'https://mcp.amap.example/mcp',
          enabled: true,
          timeout: 30_000,
          maxTimeout: 120_000,
          tools: {
            'amap-maps_geo': { enabled: false, description: 'd' },
            maps_geo: { enabled: false, description: 'd' },
          },
        },
      },
      {
        name: 'petstore',
        body: {
          name: 'petstore',
          transport: 'openapi',
          openapi: { url: 'https://petstore.example/openapi.json', version: '3.1.0' },
        },
      },
      { owner: 'alice', name: 'time', body: { name: 'time', command: 'uvx', args: ['mcp-server-time'] } },
    ],
    warnings: ['bearerKeys', 'keepAliveInterval'],
  },
]

describe('readSettings()', () => {
  test('takes the section logRotation for the settings of the same meaning', () => {
    const section = { enabled: true, interval: 'weekly', maxSize: '5MB', maxFiles: 3, compress: false, color: 1 }
    const { systemConfig, warnings } = read(JSON.stringify({ logRotation: section, systemConfig: { logMaxFiles: 4 } }))
    expect(systemConfig).toEqual({ logRotation: 'weekly', logMaxSizeBytes: '5MB', logMaxFiles: 4, logCompress: false })
    expect(warnings).toEqual(['"color" is not known in "logRotation"; it is kept and not used'])
    expect(read('{"logRotation":{"enabled":false}}').systemConfig).toEqual({ logRotation: 'none' })
    expect(read('{"logRotation":5}').warnings).toEqual(['"logRotation" is not an object; it is not used'])
  })

  test.each(FILES.map(file => [file.name, file] as const))('loads the file of %s as it is', (_name, file) => {
    const state = read(file.text)
    expect(mirrored(state.file).servers).toEqual(file.servers)
    for (const word of file.warnings ?? []) expect(state.warnings.some(text => text.includes(word))).toBe(true)
    expect(state.warnings.length).toBe(file.warnings?.length ?? 0)
  })

  test('reads users and groups of an existing hub', () => {
    const { file, systemConfig } = read(FILES.at(-1)?.text ?? '')
    expect(file.users).toEqual([{ name: 'admin', passwordHash: '$2b$10$abcdefghijklmnopqrstuv', role: 'admin' }])
    expect(file.groups).toEqual([
      {
        owner: 'admin',
        body: { name: 'maps', description: 'm', members: ['amap', { server: 'petstore', tools: ['getPet'] }] },
      },
      { body: { name: 'team', members: ['alice~time'] } },
    ])
    expect(systemConfig.logLevel).toBe('debug')
  })

  test('reads maps where lists are usual, and lists where maps are', () => {
    const { file } = read(`{
      "mcpServers": [{ "name": "a", "url": "https://a.example" }, { "name": "bob::b", "command": "b" }],
      "users": { "ada": { "passwordHash": "$argon2id$v=19$x", "role": "admin" }, "bob": { "password": "plain" } },
      "groups": { "g": ["a"], "bob::h": { "members": [{ "server": "b", "alias": "x" }] } }
    }`)
    expect(file.servers.map(({ owner, name }) => [owner, name])).toEqual([
      [undefined, 'a'],
      ['bob', 'b'],
    ])
    expect(file.users).toEqual([
      { name: 'ada', passwordHash: '$argon2id$v=19$x', role: 'admin' },
      { name: 'bob', role: 'user' },
    ])
    expect(file.groups).toEqual([
      { body: { name: 'g', members: ['a'] } },
      { owner: 'bob', body: { name: 'h', members: [{ server: 'b', alias: 'x' }] } },
    ])
  })

  test('does not repeat a password that is no hash', () => {
    const { file, warnings } = read('{"users": [{"username": "ada", "password": "canary-7781"}]}')
    expect(file.users).toEqual([{ name: 'ada', role: 'user' }])
    expect(warnings.join()).toContain('no argon2id or bcrypt hash')
    expect(warnings.join()).not.toContain('canary-7781')
  })

  test('passes entries on that cannot be read, so that they are listed', () => {
    const { file } = read(
      '{"mcpServers": {"n": null, "t": {"type": "ftp", "url": 5}, "::x": {"command": "x"}, "e": {}}}',
    )
    expect(file.servers).toEqual([
      { name: 'n', body: { name: 'n' } },
      { name: 't', body: { name: 't', transport: 'ftp', url: 5 } },
      { name: '::x', body: { name: '::x', command: 'x' } },
      { name: 'e', body: { name: 'e' } },
    ])
  })

  test('keeps every field of the bundled transports', () => {
    const schemas = [stdioTransport.configSchema, REMOTE_CONFIG_SCHEMA, openapiTransport.configSchema].map(schema =>
      Object.keys(schema.properties as JsonObject),
    )
    for (const field of new Set(schemas.flat())) {
      const { file } = read(JSON.stringify({ mcpServers: { n: { [field]: field === 'args' ? [] : { a: 'x' } } } }))
      expect(file.servers[0]?.body).toHaveProperty(field)
    }
  })

  test.each([
    ['with scopes as one text', { scopes: 'read  write', clientId: 'c' }, { scopes: ['read', 'write'], clientId: 'c' }],
    ['with scope', { scope: 'read' }, { scopes: ['read'] }],
    ['with addresses', { enabled: true, authorizationUrl: 'https://a.example', clientId: 'c' }, { clientId: 'c' }],
    [
      'as the hub writes it',
      { grant: 'client_credentials', scopes: ['a'] },
      { grant: 'client_credentials', scopes: ['a'] },
    ],
    ['as a switch', false, undefined],
  ])('reads oauth %s', (_what, oauth, expected) => {
    const { file } = read(JSON.stringify({ mcpServers: { n: { url: 'https://n.example/mcp', oauth } } }))
    expect(file.servers[0]?.body.oauth).toEqual(expected as never)
  })

  const duplicates = [
    ['letter case', '{"mcpServers": {"Time": {"command": "a"}, "time": {"command": "b"}}}'],
    ['width', '{"mcpServers": {"ａ": {"command": "a"}, "a": {"command": "b"}}}'],
    ['key and owner field', '{"mcpServers": {"bob::a": {"command": "a"}, "a": {"command": "b", "owner": "Bob"}}}'],
    ['two sections', '{"mcpServers": {"a": {"command": "a"}}, "servers": {"a": {"command": "b"}}}'],
    ['groups', '{"groups": [{"name": "g", "servers": []}, {"name": "G", "servers": []}]}'],
    ['users', '{"users": [{"username": "ada"}, {"username": "ADA"}]}'],
  ] as const
  test.each(duplicates)('refuses two of one owner and name: %s', (_what, text) => {
    expect(() => read(text)).toThrow(DuplicateEntry)
  })

  test('takes one name for two owners', () => {
    expect(read('{"mcpServers": {"a": {"command": "a"}, "bob::a": {"command": "b"}}}').file.servers).toHaveLength(2)
  })

  test('reads plugins, and says which it cannot use', () => {
    const { plugins, warnings } = read(
      '{"plugins": ["pkg", {"use": "./x.ts", "isolate": false, "required": true, "config": {"a": 1}}, {"isolate": true}]}',
    )
    expect(plugins).toEqual([{ use: 'pkg' }, { use: './x.ts', isolate: false, required: true, config: { a: 1 } }])
    expect(warnings).toEqual(['plugins[2] has no "use"; it is not used'])
  })
})
