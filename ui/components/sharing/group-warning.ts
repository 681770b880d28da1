import type { GroupWarning } from '../../api/types.ts'
import { formatNumber } from '../../text/format.ts'
import { t } from '../../text/t.ts'

/** A warning of a group in the language of the page, by its code; a code that is not known here in the hub's own words. */
export function warningText({ code, message, server = '', tools = [], params = {} }: GroupWarning): string {
  const named = tools.join(', ')
  const number = (name: string): string => formatNumber(Number(params[name]), 0)
  const word = (name: string): string => String(params[name])
  switch (code) {
    case 'server_unseen':
      return t('Server {server} was never seen online, so its tools are not known yet.', { server })
    case 'server_deleted':
      return t('The member {server} does not exist any more. Save the members without it.', { server })
    case 'server_lists':
      return t('Server {server}: its lists are not as MCP has them: {detail}', {
        server,
        // The hub's own words on a list of the server, which it quotes.
        detail: message.replace(`Server "${server}": `, ''),
      })
    case 'tool_missing':
      return t('Server {server} has no tool {tools}, which the group selects.', { server, tools: named })
    case 'tools_need_asking':
      return t('Server {server}: only clients that can be asked see {tools}.', { server, tools: named })
    case 'one_connection_only':
      return t(
        'Server {server} serves one connection at a time: all clients share it, and it cannot ask any of them.',
        {
          server,
        },
      )
    case 'names_collide':
      return t('Server {server}: listed under another name, since others have the same: {tools}.', {
        server,
        tools: named,
      })
    case 'approval_waits':
      return t('Server {server}: {tools} changed and waits for the approval of its owner.', { server, tools: named })
    case 'items_left_out':
      return t('{count} {kind} are left out: one address offers at most {limit}.', {
        ...{ count: number('count'), limit: number('limit') },
        kind:
          {
            tools: t('tools'),
            prompts: t('prompts'),
            resources: t('resources'),
            resourceTemplates: t('resource templates'),
          }[word('kind')] ?? word('kind'),
      })
    case 'tools_costly':
      return t(
        'A model pays about {tokens} tokens to read these tools, most for {largest}. Select fewer, or use {path}.',
        {
          ...{ tokens: number('tokens'), largest: word('largest'), path: word('path') },
        },
      )
    case 'tool_costly':
      return t('A model pays about {tokens} tokens to read the tool {tool}.', {
        tokens: number('tokens'),
        tool: word('tool'),
      })
    case 'others_get_less':
      return t('Server {server} is private: not all who may use the group get it. Share the server with them, too.', {
        server,
      })
    case 'selector_differs':
      return t('{item} of {values} is left out: its schema is unlike that of {as}{places}.', {
        ...{ item: word('item'), values: word('values'), as: word('as'), places: word('places') },
      })
    case 'selector_partial':
      return t('{item} cannot be used with {values}: not offered there.', {
        item: word('item'),
        values: word('values'),
      })
    case 'selector_argument_taken':
      return t('{item} is left out: it has the argument of the selector itself.', { item: word('item') })
    default:
      return message
  }
}
