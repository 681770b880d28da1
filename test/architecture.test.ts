import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { blank, filesBelow, type Import, readSources, type SourceFile } from './support/source.ts'

const ROOT = join(import.meta.dir, '..')
const sources = readSources(ROOT, ['core', 'plugins'])
const core = sources.filter(file => file.path.startsWith('core/'))
const plugins = sources.filter(file => file.path.startsWith('plugins/'))
const byPath = new Map(sources.map(file => [file.path, file]))

const ROOT_FOLDERS = ['.ci', 'core', 'deploy', 'docs', 'examples', 'plugins', 'test', 'ui']
const ROOT_FILES = [
  ...[
    '.dockerignore',
    '.gitignore',
    'CONTRIBUTING.md',
    'Dockerfile',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    'biome.json',
  ],
  ...[
    'bun.lock',
    'bunfig.toml',
    'knip.json',
    'mcp_settings.json',
    'package.json',
    'tsconfig.json',
    'tsconfig.types.json',
  ],
]

/**
 * Names that meant nothing to a reader who knows MCP. Each was replaced by a term of the field, such as server request for
 * `asks`.
 */
const REPLACED: ReadonlySet<string> = new Set(
  `Front Wires LegacyPosts Intake Relay Pulse ModernFace ModernFaces ModernAnswers PostReply ModernReply Outages Audience Hearer
  asks CallerAsks UpstreamAsks Lane ServerLanes SessionLanes Observed wish StrayMessages Faults ResultCut fit KeptResults
  UpdatePace PassedStates PatientSqliteDialect Patience lieDown freshStart wentOnline forgive fresh steady look tell told judge
  greet meet spoilt spoiled unasked odd unfit mended useful lastWords LastWords doubted suspect sawElicitation displace twin
  refuseTwin refuseSecond standBack sacrificeFirst whenRead fitted comesOut holesOf Entrance Confinement World ErrorScene`.split(
    /\s+/,
  ),
)

/** Modules of the hub that a plugin may import. */
const PLUGIN_MODULES = [
  ...['patchbay/console', 'patchbay/contract', 'patchbay/features', 'patchbay/log-kit', 'patchbay/plugin-kit'],
  'patchbay/transport-kit',
]

/**
 * The parts of each folder that has folders in it, lowest level first: a part is a folder or a file, and `*` stands for the
 * files that no level names. A part imports from lower levels alone; the files of `*` also from one another.
 */
const LEVELS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  core: [
    ['contract'],
    ['features'],
    ['transport-kit'],
    ['domain', 'events'],
    ['config'],
    ['store', 'secrets'],
    ['registry', 'telemetry'],
    ['plans'],
    ['dashboards'],
    ['log-kit'],
    ['auth'],
    ['request'],
    ['outbound'],
    ['connections'],
    ['mcp', 'alerts'],
    ['assistant'],
    ['moving'],
    ['http'],
    ['plugin-kit'],
    ['plugin-host'],
    ['hub'],
    ['cli'],
    ['main'],
  ],
  'core/features': [['services'], ['*']],
  'core/config': [
    ['jsonc'],
    ['jsonc-edit', 'parsers', 'schema'],
    ['variables'],
    ['known-settings'],
    ['shape'],
    ['*'],
    ['client-file', 'import'],
  ],
  'core/domain': [
    ['text'],
    ['*'],
    ['json', 'log'],
    ['groups'],
    ['server', 'tools', 'alerts', 'templates'],
    ['dashboards'],
    ['group-fields'],
    ['group-body'],
  ],
  'core/alerts': [
    ['*'],
    ['delivery'],
    ['transitions'],
    ['engine', 'incidents'],
    ['file-settings', 'moving', 'test-rule'],
    ['create'],
  ],
  'core/moving': [['originals'], ['*'], ['backup']],
  'core/plans': [['apart'], ['*']],
  'core/store': [['migrations'], ['*'], ['rows']],
  'core/store/migrations': [['first', '*']],
  'core/telemetry': [['histogram'], ['calls', 'folding'], ['*']],
  'core/cli': [
    ['io', 'arguments'],
    ['local-files', 'output'],
    ['client'],
    ['client-files', 'at-rest'],
    ['*'],
    ['commands'],
    ['run'],
  ],
  'core/registry': [
    ['*'],
    ['owned'],
    ['groups'],
    ['servers'],
    ['people', 'sealed-values'],
    ['settings-file'],
    ['create'],
  ],
  'core/connections': [
    ['*'],
    ['process', 'store'],
    ['protocol', 'sandbox'],
    ['spawn', 'worker'],
    ['connection'],
    ['probe'],
    ['server'],
    ['supervisor', 'options'],
    ['create'],
  ],
  'core/connections/sandbox': [['*', 'inside']],
  'core/connections/server': [['machine'], ['*']],
  'core/connections/worker': [['*'], ['lists'], ['links'], ['worker']],
  'core/mcp': [
    ['rpc'],
    ['scope'],
    ['gates', 'selection'],
    ['filters'],
    ['call'],
    ['legacy'],
    ['inner'],
    ['changes', 'api'],
    ['modern', 'group-view'],
    ['era-dispatcher'],
    ['endpoint'],
    ['create'],
  ],
  'core/mcp/call': [['*'], ['tasks']],
  'core/http': [
    ['*'],
    ['body', 'live'],
    ['guard', 'pipeline'],
    ['plugin-routes'],
    ['document'],
    ['routes'],
    ['app'],
    ['serve-bun', 'health-checks'],
    ['create'],
  ],
  'core/plugin-host': [['tables'], ['services'], ['*']],
  'core/http/routes': [
    ['*'],
    ['people', 'servers', 'alerts', 'monitoring', 'assistant'],
    ['groups', 'hub', 'dashboards', 'moving', 'discovery'],
    ['all'],
  ],
}

/**
 * Files that build answers with a body, and the reason why every byte that waits for a client is counted: the file `charges`
 * an account; the answer `is counted` by the application, which charges every answer that is not marked as short; or it is
 * always `short`.
 */
const BODIES: Readonly<Record<string, 'charges' | 'charges texts' | 'is counted' | 'short'>> = {
  'core/http/console/built-files.ts': 'is counted',
  'core/http/console/console.ts': 'is counted',
  'core/http/counted-answer.ts': 'charges texts',
  'core/http/errors.ts': 'short',
  'core/http/live/live-sse.ts': 'charges',
  'core/http/no-oauth.ts': 'short',
  'core/http/plugin-routes.ts': 'is counted',
  'core/http/routes/hub/plugin-pages.ts': 'is counted',
  'core/http/routes/moving/backup.ts': 'is counted',
  'core/mcp/legacy/post-response.ts': 'charges texts',
  'core/mcp/legacy/sse-connection.ts': 'charges',
  'core/mcp/rpc/http-errors.ts': 'short',
  'core/plugin-host/isolate.ts': 'is counted',
  'core/request/headers.ts': 'is counted',
}

/** The lists of bundled plugins name each: all of them, and what is known of some before plugins are loaded. */
const LISTS = ['', '-commands', '-fields', '-settings'].map(part => `core/hub/bundled${part}.ts`)

/**
 * Words of features that are to be named in folders of their own alone, and other meanings of the word. `left`: lines elsewhere
 * in core that name the feature still, without migrations. The number may only fall, and is 0 when the feature is a plugin.
 */
const FEATURE_WORDS: Readonly<
  Record<string, { readonly own: readonly string[]; readonly general: RegExp; readonly left: number }>
> = {
  market: { own: LISTS, general: /(?!)/g, left: 0 },
  // Files that come with the hub, certificates of an authority, a document without references to others, and Ruby's program.
  bundle: {
    own: [...LISTS, 'core/store/migrate.ts'],
    general: /bundled|[_-]ca[_-]bundle|ca[_-]bundle|bundle the document|\|bundle\|/gi,
    left: 0,
  },
  // Events that the live stream repeats, and what programs keep of their users.
  history: {
    own: LISTS,
    general: /event-?histor(?:y|ies)|HistoryLimits|#histories|its history and its own sign-in/gi,
    left: 0,
  },
  // The answer at the paths of OAuth while no plugin has them.
  oauth: { own: [...LISTS, 'core/http/no-oauth.ts'], general: /refuseOAuth|no-oauth/g, left: 0 },
  // The name of the field with values of users.
  "'bring'": { own: [], general: /(?!)/g, left: 0 },
}

/** True for a module of the hub, and for the types that another plugin shares. */
function isForPlugins({ specifier, typeOnly }: Import): boolean {
  const [, plugin] = /^patchbay\/plugins\/([\w-]+)$/.exec(specifier) ?? []
  if (plugin !== undefined) return typeOnly && byPath.has(`plugins/${plugin}/types.ts`)
  return PLUGIN_MODULES.includes(specifier)
}

/** A folder holds one kind of thing: with more files than this it holds two. */
const MOST_LINES = 350
const MEDIAN_LINES = 110
const MOST_FILES = 26
/** Lines of core: a feature that can be a plugin is one, so that this number follows what has yet to leave. */
const MOST_LINES_OF_CORE = 121_000

function room(path: string): string {
  const [, first = '', second] = path.split('/')
  return second === undefined ? first.replace(/\.ts$/, '') : first
}

/** The first folder on the way from `core` where two files are in different parts, and these parts. */
function parting(one: string, other: string): { folder: string; parts: readonly [string, string] } {
  const [a, b] = [one.split('/'), other.split('/')]
  const at = a.findIndex((name, index) => name !== b[index])
  const part = (names: readonly string[]): string => (names[at] ?? '').replace(/\.ts$/, '')
  return { folder: a.slice(0, at).join('/'), parts: [part(a), part(b)] }
}

function level(folder: string, part: string): number {
  const levels = LEVELS[folder] ?? []
  const named = levels.findIndex(parts => parts.includes(part))
  return named >= 0 ? named : levels.findIndex(parts => parts.includes('*'))
}

/** `path:line` of each match in the code, comments and strings left out. */
function places(
  files: readonly SourceFile[],
  pattern: RegExp,
  except: (path: string) => boolean = () => false,
): string[] {
  return files
    .filter(file => !except(file.path))
    .flatMap(file =>
      [...file.code.matchAll(pattern)].map(match => {
        const line = file.code.slice(0, match.index).split('\n').length
        return `${file.path}:${line}: ${match[0].trim()}`
      }),
    )
}

test('the scan finds the sources', () => {
  expect(core.length).toBeGreaterThan(20)
})

describe('imports', () => {
  test('every folder with folders in it has its levels, and these name what is there', () => {
    const parts = new Map<string, Set<string>>()
    for (const { path } of core) {
      const names = path.split('/')
      for (let at = 1; at < names.length; at += 1) {
        const folder = names.slice(0, at).join('/')
        const part = (names[at] ?? '').replace(/\.ts$/, '')
        parts.set(folder, (parts.get(folder) ?? new Set()).add(part))
      }
    }
    const nested = [...parts.keys()].filter(folder => [...parts.keys()].some(other => other.startsWith(`${folder}/`)))
    expect(Object.keys(LEVELS).sort()).toEqual(nested.sort())
    const missing = [...parts].flatMap(([folder, names]) =>
      LEVELS[folder] ? [...names].filter(part => level(folder, part) < 0).map(part => `${folder}/${part}`) : [],
    )
    const gone = Object.entries(LEVELS).flatMap(([folder, levels]) =>
      levels.flat().flatMap(part => (part === '*' || parts.get(folder)?.has(part) ? [] : [`${folder}/${part}`])),
    )
    expect({ missing, gone }).toEqual({ missing: [], gone: [] })
  })

  test(`no folder has more than ${MOST_FILES} files`, () => {
    const counts = new Map<string, number>()
    const all = [...core, ...readSources(ROOT, ['ui'])]
    for (const { path } of all) {
      const folder = path.slice(0, path.lastIndexOf('/'))
      counts.set(folder, (counts.get(folder) ?? 0) + 1)
    }
    expect([...counts].filter(([, files]) => files > MOST_FILES)).toEqual([])
    const [largest = ''] = [...counts].toSorted((a, b) => b[1] - a[1])
    console.log(`${counts.size} folders, ${all.length} files, largest folder ${largest}`)
  })

  test(`half of the files have at most ${MEDIAN_LINES} lines, and none over ${MOST_LINES}`, () => {
    const lines = sources.map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    const [longest, ...shorter] = lines.toSorted((a, b) => b.lines - a.lines)
    const median = shorter[Math.floor(shorter.length / 2)]?.lines ?? 0
    console.log(`median ${median} lines, longest ${longest?.path},${longest?.lines}`)
    expect(lines.filter(file => file.lines > MOST_LINES)).toEqual([])
    expect(median).toBeLessThanOrEqual(MEDIAN_LINES)
  })

  test(`core has at most ${MOST_LINES_OF_CORE} lines`, () => {
    const sum = (files: readonly SourceFile[]): number =>
      files.reduce((lines, { text }) => lines + text.split('\n').length - 1, 0)
    console.log(`core ${sum(core)} lines, plugins ${sum(plugins)} lines`)
    expect(sum(core)).toBeLessThanOrEqual(MOST_LINES_OF_CORE)
    expect(sum(plugins)).toBeGreaterThan(0)
  })

  test('every relative import names a file that exists', () => {
    const broken = sources.flatMap(file =>
      file.imports
        .filter(one => one.target !== undefined && !byPath.has(one.target) && !one.target.endsWith('.json'))
        .map(one => `${file.path} → ${one.specifier}`),
    )
    expect(broken).toEqual([])
  })

  test('arrows only go down', () => {
    const upward = core.flatMap(file =>
      file.imports.flatMap(({ target }) => {
        if (!target?.startsWith('core/') || target === file.path) return []
        const { folder, parts } = parting(file.path, target)
        if (!LEVELS[folder]) return []
        const [from, to] = parts.map(part => level(folder, part)) as [number, number]
        const amongTheRest = parts.every(part => !LEVELS[folder]?.flat().includes(part))
        return from > to || (from === to && amongTheRest) ? [] : [`${file.path} → ${target}`]
      }),
    )
    expect(upward).toEqual([])
    console.log(`${core.flatMap(file => file.imports).length} imports, ${upward.length} of them upward`)
  })

  test('core knows its bundled plugins only in the place that lists them', () => {
    const known = core.flatMap(file =>
      file.imports.filter(one => one.target?.startsWith('plugins/')).map(() => file.path),
    )
    expect([...new Set(known)].filter(path => room(path) !== 'hub' && room(path) !== 'plugin-host')).toEqual([])
  })

  test('a feature is named in its own folder only', () => {
    for (const [word, { own, general, left }] of Object.entries(FEATURE_WORDS)) {
      const lines = core
        .filter(({ path }) => !own.some(folder => path.startsWith(folder)) && !path.includes('/migrations/'))
        .flatMap(({ path, text }) => text.split('\n').map(line => ({ path, line: line.replaceAll(general, '') })))
        .filter(({ line }) => line.toLowerCase().includes(word))
      const places = Object.entries(Object.groupBy(lines, ({ path }) => path))
      console.log(`${word}: ${lines.length} lines of ${places.length} files in core outside of its folder`)
      expect(lines.length, places.map(([path, found]) => `${path}: ${found?.length}`).join('\n')).toBeLessThanOrEqual(
        left,
      )
    }
  })

  test('a plugin imports neither core nor another plugin', () => {
    const foreign = plugins.flatMap(file => {
      const own = file.path.split('/').slice(0, 2).join('/')
      return file.imports
        .filter(one =>
          one.target === undefined
            ? one.specifier.startsWith('patchbay') && !isForPlugins(one)
            : !one.target.startsWith(`${own}/`),
        )
        .map(one => `${file.path} → ${one.specifier}`)
    })
    expect(foreign).toEqual([])
  })

  test('there is no cycle, type imports included', () => {
    expect(findCycles(sources)).toEqual([])
  })

  test('only the port starts what runs in a connection worker, and nothing else of the main thread imports it', () => {
    const worker = 'core/connections/worker/'
    const importers = core
      .filter(file => !file.path.startsWith(worker) && file.imports.some(one => one.target?.startsWith(worker)))
      .map(file => file.path)
    expect(importers).toEqual(['core/connections/connection/port.ts'])
  })

  test('nothing that a connection worker loads reaches the store, the registry or sign-in', () => {
    const reached = new Set<string>()
    const walk = (path: string): void => {
      if (reached.has(path)) return
      reached.add(path)
      for (const one of byPath.get(path)?.imports ?? []) if (one.target && !one.typeOnly) walk(one.target)
    }
    walk('core/connections/worker/worker.ts')
    const closed = ['store', 'registry', 'auth', 'mcp', 'hub', 'cli']
    expect([...reached].filter(path => path.startsWith('core/') && closed.includes(room(path)))).toEqual([])
  })
})

describe('restrictions to certain files', () => {
  test('Bun.* and bun:* stay at the edges', () => {
    const edge = (path: string): boolean =>
      path === 'core/main.ts' ||
      path === 'core/auth/passwords.ts' ||
      path === 'core/transport-kit/module.ts' ||
      /^core\/http\/serve-bun(-[\w-]+)?\.ts$/.test(path) ||
      path.startsWith('core/outbound/') ||
      (path.startsWith('core/connections/') && !/^core\/connections\/worker\/(?:links|lists)\//.test(path)) ||
      path.startsWith('core/plugin-host/')
    expect(places(sources, /(?<![\w.])Bun\.\w+/g, edge)).toEqual([])
    const importers = sources.filter(file => file.imports.some(one => one.specifier.startsWith('bun:')))
    expect(importers.map(file => file.path).filter(path => !edge(path))).toEqual([])
  })

  test('only core/config/env.ts reads the environment, which main hands to it', () => {
    const allowed = (path: string): boolean => path === 'core/config/env.ts' || path === 'core/main.ts'
    expect(places(sources, /\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b/g, allowed)).toEqual([])
  })

  test('only core/main.ts ends the process', () => {
    expect(
      places(sources, /\bprocess\.(exit|abort|kill\(\s*process\.pid)\b/g, path => path === 'core/main.ts'),
    ).toEqual([])
  })

  /** Files that dial addresses which no user of the hub chooses, with what they dial. */
  const OWN_ADDRESSES: Readonly<Record<string, string>> = {
    'core/cli/client.ts': 'the hub whose address the user of the command line gave',
    'plugins/sink-syslog/carriers.ts': 'the collector that the administrator of the machine names',
    'plugins/sink-search/engine.ts': 'the engine that the administrator of the machine names',
  }

  test('only core/outbound opens connections to addresses that others chose', () => {
    const outbound = (path: string): boolean => path.startsWith('core/outbound/') || path in OWN_ADDRESSES
    const dialling = /^(node:)?(http2?|https|tls|dgram)$|^undici$|^ws$/
    const importers = sources.filter(file =>
      file.imports.some(one => dialling.test(one.specifier) && !one.typeOnly && !outbound(file.path)),
    )
    expect(importers.map(file => file.path)).toEqual([])
    // A name `fetch` of the file's own is a guarded one that was handed in.
    const ownName = /\b(const|let)\s+fetch\b|[{,(]\s*fetch\s*[,:}]|\bfetch\??:\s/
    const calling = sources.filter(file => !ownName.test(file.code))
    const calls = places(calling, /(?:\b(?:await|return|void|yield)\s+|[=(,:?&|]\s*)fetch\(/g, outbound)
    const global = places(
      sources,
      /\b(?:globalThis|self|window)\.fetch\b|\bnew (?:WebSocket|EventSource|XMLHttpRequest)\(/g,
      outbound,
    )
    expect([...calls, ...global]).toEqual([])
  })

  test('raw sockets and name servers are for core/outbound too, but for what never leaves the machine', () => {
    const allowed: Readonly<Record<string, string>> = {
      'core/cli/doctor-checks.ts': 'listens, to see whether a port is free',
      'core/connections/sandbox/inside/egress.ts': 'runs in the sandbox, and connects to the hub’s Unix socket',
      'core/connections/sandbox/probe.ts': 'listens for what must not come',
      'core/connections/sandbox/inside/report.ts': 'runs in the sandbox, and tries what must not work',
      'core/connections/worker/open-pipe.ts': 'carries a descriptor that is connected already',
      'core/connections/process/child-streams.ts': 'carries a descriptor that is connected already',
    }
    const outbound = (path: string): boolean =>
      path.startsWith('core/outbound/') || path in allowed || path in OWN_ADDRESSES
    const importers = sources.filter(
      file =>
        !outbound(file.path) && file.imports.some(one => /^(?:node:)?(?:net|dns(?:\/promises)?)$/.test(one.specifier)),
    )
    expect(importers.map(file => file.path)).toEqual([])
    const made = places(
      sources,
      /\bBun\s*\.\s*(?:connect|listen|udpSocket|dns|RedisClient|S3Client|sql|SQL)\b|\bBun\s*\[/g,
      outbound,
    )
    expect(made).toEqual([])
    const taken = sources.filter(file => file.imports.some(one => one.specifier === 'bun' && !one.typeOnly))
    expect(taken.map(file => file.path)).toEqual([])
    // These two files connect descriptors only.
    const dialled = core.filter(file => /child-(?:pipe|streams)/.test(file.path) && /\bhostname\s*:/.test(file.code))
    expect(dialled.map(file => file.path)).toEqual([])
  })

  test('only places that count their bytes, or whose callers do, build answers with a body', () => {
    const room = /^core\/(?!connections|outbound|cli)/
    const found = (pattern: RegExp, files = core.filter(({ path }) => room.test(path))) =>
      files.filter(({ code }) => pattern.test(code)).map(({ path }) => path)
    expect(found(/\bnew Response\(\s*(?!null\b)|\bResponse\.json\(/).sort()).toEqual(Object.keys(BODIES).sort())
    const charging = Object.keys(BODIES).filter(path => BODIES[path] === 'charges')
    expect(found(/\bnew CountedBody\(/).sort()).toEqual([...charging, 'core/request/held-body.ts'].sort())
    // Answers of the application are counted in these files. Answers below `/mcp` do not pass there, so they must charge
    // their own bytes.
    expect(found(/\bcountedResponse\(/)).toEqual(['core/http/app.ts', 'core/http/counted-answer.ts'])
    expect(found(/\bapp\.(?:handle|fetch|refuse)\(/).filter(path => path.startsWith('core/mcp'))).toEqual([])
    for (const path of Object.keys(BODIES)) if (path.startsWith('core/mcp')) expect(BODIES[path]).not.toBe('is counted')
  })

  test('domain and contract touch neither a clock nor the disk', () => {
    const rules = core.filter(file => room(file.path) === 'domain' || room(file.path) === 'contract')
    const importers = rules.flatMap(file =>
      file.imports
        .filter(one => /^node:(fs|net|child_process|os|dns|worker_threads)/.test(one.specifier) && !one.typeOnly)
        .filter(one => !(one.specifier === 'node:net' && /import \{[\w\s,]*isIP/.test(file.text)))
        .map(one => `${file.path} → ${one.specifier}`),
    )
    expect(importers).toEqual([])
    expect(places(rules, /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bMath\.random\(/g)).toEqual([])
  })

  test('no state that changes lives in a module', () => {
    const variables = places(sources, /^(?:export )?(?:let|var) \w+/gm)
    const collections = places(
      sources,
      /^(?:export )?const \w+\b(?!: Readonly)[^=\n]*= (?:new (?:Map|Set|WeakMap|WeakSet)(?:<[^\n]*>)?\(\)|\[\]|\{\})$/gm,
    )
    expect([...variables, ...collections]).toEqual([])
  })
})

test('the contract is types and few functions, in at most 800 lines with text besides the tables of error codes', () => {
  const files = ['core/contract/mod.ts']
  for (const path of files) {
    const taken = byPath.get(path)?.imports.flatMap(one => one.target ?? []) ?? []
    files.push(...taken.filter(target => !files.includes(target)))
  }
  const counted = files.filter(path => !/^core\/contract\/(?:codes|remedies)\.ts$/.test(path))
  const lines = counted.flatMap(path => byPath.get(path)?.text.split('\n') ?? []).filter(line => line.trim() !== '')
  expect(lines.length).toBeLessThanOrEqual(800)
  const functions = counted.flatMap(path =>
    [...(byPath.get(path)?.text ?? '').matchAll(/^export (?:async )?(?:function|class) (\w+)/gm)].map(
      match => match[1],
    ),
  )
  expect(functions.sort()).toEqual(['HubError', 'definePlugin', 'isJsonObject'])
})

test('at least 90 % of what is exported is documented', () => {
  const declared =
    /^export (?:default )?(?:abstract )?(?:async )?(?:function\*?|class|interface|type|const|enum) (\w+)/gm
  const exported = sources.flatMap(({ path, text }) =>
    [...text.matchAll(declared)].map(match => ({
      name: `${path}: ${match[1]}`,
      documented: text.slice(0, match.index).trimEnd().endsWith('*/'),
    })),
  )
  const without = exported.filter(({ documented }) => !documented).map(({ name }) => name)
  const percent = 100 * (1 - without.length / exported.length)
  console.log(`${exported.length} exported symbols, ${percent.toFixed(1)} % of them documented`)
  expect(exported.length).toBeGreaterThan(1_000)
  expect(percent, without.join('\n')).toBeGreaterThanOrEqual(90)
})

test('contract/mod.ts, features/mod.ts and transport-kit/mod.ts are the only barrels', () => {
  const barrels = sources.filter(
    file =>
      /\bexport\s+(?:type\s+)?\*\s+from\b/.test(file.code) &&
      !/^core\/(?:contract|features|transport-kit)\/mod\.ts$/.test(file.path),
  )
  expect(barrels.map(file => file.path)).toEqual([])
})

test('names that were replaced by the terms of the field do not come back', () => {
  // The keys of a translation are texts.
  const named = sources.filter(({ path }) => !path.endsWith('/words.zh.ts'))
  const found = named.flatMap(({ path, code }) =>
    [...code.matchAll(/[A-Za-z_$][\w$]*/g)].filter(([name]) => REPLACED.has(name)).map(([name]) => `${path}: ${name}`),
  )
  expect(found).toEqual([])
})

test('the repository has these files and folders in its root alone, so that none gets there by mistake', () => {
  const { stdout, success } = Bun.spawnSync(['git', 'ls-files'], { cwd: ROOT })
  // A copy without history has what it was given.
  const stored = success ? stdout.toString().trim().split('\n') : filesBelow(ROOT, [...ROOT_FOLDERS, ...ROOT_FILES])
  const names = new Set(stored.map(path => path.split('/')[0]))
  expect([...names].toSorted()).toEqual([...ROOT_FOLDERS, ...ROOT_FILES].toSorted())
})

test('no file names a folder of the machine it was written on', () => {
  const home = ['root', 'work'].map(name => `/${name}/`)
  const starts = [...ROOT_FOLDERS, ...ROOT_FILES]
  const found = filesBelow(ROOT, starts).flatMap(path =>
    readFileSync(join(ROOT, path), 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        home.some(folder => new RegExp(`(^|[\\s"'\`(=:])${folder}\\w`).test(line)) ? [`${path}:${index + 1}`] : [],
      ),
  )
  expect(found).toEqual([])
})

test('the scan tells code from comments, strings, templates and regular expressions', () => {
  const { code } = blank(`a // x\nb /* y */ c\n\`t \${d(\`u\`)} v\` / 2; e = /[/]f/; "g"; h`)
  expect(code.replaceAll(/\s+/g, ' ')).toBe(`a b c \` \${d(\` \`)} \` / 2; e = ; " "; h`)
})

/** Lists each cycle once, as the path around it. */
function findCycles(files: readonly SourceFile[]): string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  const path: string[] = []
  const visit = (file: string): void => {
    const at = path.indexOf(file)
    if (at >= 0) {
      cycles.push([...path.slice(at), file].join(' → '))
      return
    }
    if (done.has(file)) return
    path.push(file)
    for (const one of byPath.get(file)?.imports ?? []) if (one.target && byPath.has(one.target)) visit(one.target)
    path.pop()
    done.add(file)
  }
  for (const file of files) visit(file.path)
  return cycles
}
