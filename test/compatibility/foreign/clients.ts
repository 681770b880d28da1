/** Features of a client that can be tried, in the order of the page. */
export const FEATURES = ['tools', 'resources', 'prompts', 'sampling', 'elicitation', 'roots'] as const
export type Feature = (typeof FEATURES)[number]
export const QUESTIONS: readonly Feature[] = ['sampling', 'elicitation', 'roots']

export const PLACES = ['group', 'newer', 'own', 'shared'] as const
export type PlaceName = (typeof PLACES)[number]

export interface ForeignClient {
  readonly name: string
  /** Its entry in package.json, for the version. */
  readonly package: string
  readonly program: string
  readonly args: readonly string[]
  readonly wire: 'mcp' | 'sse'
  readonly speaks: string
  /** The features that it has. */
  readonly features: readonly Feature[]
  /** The words that its user sees with a wrong key: those of the hub, or the client's own. */
  readonly refusal: RegExp
  /** Costs many processes: left to `bun run compatibility`. */
  readonly heavy?: true
}

export const KEY_UNKNOWN = /There is no such access key any more\. Make a new one\./
const NO_OAUTH =
  /This hub takes access keys and offers no OAuth; none was sent, or the one sent is not known\. Make a key/
/** The client shows its user the status only. */
const STATUS_ALONE = /401/

const ALL = FEATURES
const BEFORE_ELICITATION = ALL.filter(each => each !== 'elicitation')
const UNASKED: readonly Feature[] = ['tools', 'resources', 'prompts']
const UNASKED_WITHOUT_PROMPTS: readonly Feature[] = ['tools', 'resources']

type Row = Omit<ForeignClient, 'wire'> & Partial<Pick<ForeignClient, 'wire'>>

const sdk = (version: string, name: string, row: Pick<Row, 'speaks' | 'features' | 'refusal'> & Partial<Row>): Row => ({
  name: `SDK ${version}`,
  package: name,
  program: 'sdk',
  args: [name, 'http'],
  ...row,
})

const sse: typeof sdk = (version, name, row) =>
  sdk(`${version}, SSE`, name, { args: [name, 'sse'], wire: 'sse', ...row })

const ROWS: readonly Row[] = [
  sse('1.0', 'sdk-1-0', {
    args: ['sdk-1-0', 'bare-sse'],
    speaks: '2024-11-05',
    features: BEFORE_ELICITATION,
    refusal: STATUS_ALONE,
  }),
  sdk('1.10', 'sdk-1-10', { speaks: '2024-11-05', features: BEFORE_ELICITATION, refusal: KEY_UNKNOWN }),
  sse('1.10', 'sdk-1-10', { speaks: '2024-11-05', features: BEFORE_ELICITATION, refusal: STATUS_ALONE }),
  sdk('1.20', 'sdk-1-20', { speaks: '2025-06-18', features: ALL, refusal: KEY_UNKNOWN }),
  sse('1.20', 'sdk-1-20', { speaks: '2025-06-18', features: ALL, refusal: STATUS_ALONE }),
  sdk('1.32', '@modelcontextprotocol/sdk', { speaks: '2025-11-25', features: ALL, refusal: KEY_UNKNOWN }),
  sse('1.32', '@modelcontextprotocol/sdk', { speaks: '2025-11-25', features: ALL, refusal: STATUS_ALONE }),
  {
    name: 'SDK 2.4, older era',
    package: '@modelcontextprotocol/client',
    program: 'client-2',
    args: ['legacy'],
    speaks: '2025-11-25',
    features: ALL,
    refusal: KEY_UNKNOWN,
  },
  {
    name: 'SDK 2.4',
    package: '@modelcontextprotocol/client',
    program: 'client-2',
    args: ['modern'],
    speaks: '2026-07-28',
    features: ALL,
    refusal: STATUS_ALONE,
  },
  {
    name: 'AI SDK, older era',
    package: '@ai-sdk/mcp',
    program: 'ai-sdk',
    args: ['legacy'],
    speaks: '2025-11-25',
    features: [...UNASKED, 'elicitation'],
    refusal: KEY_UNKNOWN,
  },
  {
    name: 'AI SDK',
    package: '@ai-sdk/mcp',
    program: 'ai-sdk',
    args: ['modern'],
    speaks: '2026-07-28',
    features: [...UNASKED, 'elicitation'],
    refusal: KEY_UNKNOWN,
  },
  {
    name: 'LangChain',
    package: '@langchain/mcp-adapters',
    program: 'langchain',
    args: [],
    speaks: '2025-11-25',
    features: UNASKED_WITHOUT_PROMPTS,
    refusal: KEY_UNKNOWN,
  },
  {
    name: 'OpenAI agents',
    package: '@openai/agents',
    program: 'openai-agents',
    args: [],
    speaks: '2026-07-28',
    features: UNASKED_WITHOUT_PROMPTS,
    refusal: STATUS_ALONE,
  },
  {
    name: 'mcp-remote before SDK 1.32',
    package: 'mcp-remote',
    program: 'mcp-remote',
    args: [],
    speaks: '2025-11-25',
    features: ALL,
    refusal: NO_OAUTH,
  },
  {
    name: 'inspector, older era',
    package: '@modelcontextprotocol/inspector',
    program: 'inspector',
    args: ['legacy'],
    speaks: 'legacy',
    features: UNASKED,
    refusal: NO_OAUTH,
    heavy: true,
  },
  {
    name: 'inspector',
    package: '@modelcontextprotocol/inspector',
    program: 'inspector',
    args: ['modern'],
    speaks: 'modern',
    features: UNASKED,
    refusal: NO_OAUTH,
    heavy: true,
  },
]

export const CLIENTS: readonly ForeignClient[] = ROWS.map(row => ({ wire: 'mcp', ...row }))
