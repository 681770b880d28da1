import { definePlugin, HubError, type JsonObject } from 'patchbay/contract'
import type { ScopeTool, ScopeView, ToolSetCall } from 'patchbay/features'
import { asResult, searchAnswer, toolAnswer } from './answers.ts'
import { TOOLS } from './definitions.ts'
import { Finder } from './finder.ts'
import { instructions } from './instructions.ts'
import { ToolIndex } from './tool-index.ts'
import { Turns } from './turns.ts'
import { Words } from './words.ts'

const QUERY_CHARACTERS = 500
const MOST_HITS = 20
const USUAL_HITS = 5

/** The view `$smart` of any scope: three tools by which a client finds and calls the others, instead of a long list. */
export default definePlugin({
  name: 'smart-group',
  contract: 1,
  setup(context) {
    const now = (): number => performance.now()
    const index = new ToolIndex(new Words(), now)
    const ranker = () => context.contributions('toolRanker').values().next().value
    const finder = new Finder(index, new Turns(now), ranker)
    context.contribute('tools', 'smart-group', {
      view: 'smart',
      applies: () => 'instead',
      tools: () => TOOLS,
      instructions,
      inner: call => (call.tool === 'call_tool' ? innerCall(call.arguments) : undefined),
      async call(call, scope) {
        return { result: asResult(await answer(finder, call, scope)) }
      },
    })
    return undefined
  },
})

async function answer(finder: Finder, { tool, arguments: given }: ToolSetCall, scope: ScopeView): Promise<JsonObject> {
  if (tool === 'search_tools') return searching(finder, given, scope)
  if (tool === 'describe_tool') return toolAnswer(named(given.tool ?? given.toolName, scope))
  throw wrong('call_tool needs "tool", a name of search_tools, and "arguments", an object')
}

async function searching(finder: Finder, given: JsonObject, scope: ScopeView): Promise<JsonObject> {
  const { query, server, limit = USUAL_HITS } = given
  if (typeof query !== 'string' || query.trim() === '' || query.length > QUERY_CHARACTERS)
    throw wrong(`search_tools needs "query", key words of 1 to ${QUERY_CHARACTERS} characters`)
  if (server !== undefined && typeof server !== 'string') throw wrong('"server" is the name of a server')
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MOST_HITS)
    throw wrong(`"limit" is a whole number of 1 to ${MOST_HITS}`)
  const wanted = server?.toLowerCase()
  const isWanted = wanted === undefined ? undefined : (tool: ScopeTool) => tool.server.toLowerCase() === wanted
  return searchAnswer(await finder.find(scope, query, isWanted), limit, scope)
}

function named(name: unknown, { tools, near }: ScopeView): ScopeTool {
  if (typeof name !== 'string') throw wrong('describe_tool needs "tool", a name of search_tools')
  const found = tools.find(tool => tool.name === name)
  if (found) return found
  const meant = near(name).map(one => `"${one}"`)
  throw new HubError('tool_not_found', `There is no tool "${name.slice(0, 64)}" here`, {
    hint: meant.length > 0 ? `Did you mean ${meant.join(' or ')}?` : 'Use a name that search_tools gave',
  })
}

/** The call inside `call_tool`; undefined if it names none. */
function innerCall({ tool, toolName, arguments: given = {} }: JsonObject): ToolSetCall | undefined {
  const name = tool ?? toolName
  if (typeof name !== 'string' || typeof given !== 'object' || given === null || Array.isArray(given)) return undefined
  return { tool: name, arguments: given as JsonObject }
}

function wrong(message: string): HubError {
  return new HubError('params_invalid', message)
}
