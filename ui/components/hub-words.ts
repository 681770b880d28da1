import { pluginWord } from '../text/plugin-words.ts'
import { isChinese, t } from '../text/t.ts'

/** Translates sentences of the hub and of plugins without a code to the page's language; unknown ones stay unchanged. */
export function hubWords(sentence: string): string {
  return sentences()[sentence] ?? withParts(sentence) ?? (isChinese() ? pluginWord(sentence) : undefined) ?? sentence
}

/** A function, since the words follow the language. */
function sentences(): Readonly<Record<string, string>> {
  return {
    'as configured': t('as configured'),
    'each user signs in': t('each user signs in'),
    'an HTTP API asks nothing': t('an HTTP API asks nothing'),
    'asks in its answers: one connection serves all': t('asks in its answers: one connection serves all'),
    'asks its client: own process per session': t('asks its client: own process per session'),
    'asks its client: own connection per session': t('asks its client: own connection per session'),
    'may ask its client: own connection per session that can be asked': t(
      'may ask its client: own connection per session that can be asked',
    ),
    'is being checked for server requests': t('is being checked for server requests'),
    'was not seen to ask its client: one process for all': t('was not seen to ask its client: one process for all'),
    'was not seen to ask its client: one connection for all': t(
      'was not seen to ask its client: one connection for all',
    ),
    'may serve one connection at a time: one connection for all': t(
      'may serve one connection at a time: one connection for all',
    ),
    'serves one connection at a time: all share it': t('serves one connection at a time: all share it'),
    'was not checked yet: one process for all': t('was not checked yet: one process for all'),
    'Its authors do not maintain it any more': t('Its authors do not maintain it any more'),
    'It downloads a package when it first starts': t('It downloads a package when it first starts'),
    'It did not start': t('It did not start'),
    'Its checks fail': t('Its checks fail'),
  }
}

const SECRETS = 'It takes secrets as arguments, which other programs on its machine can see: '
const WAITING = /^(\d+) records wait for it$/
const UNSEEN = /^could not be checked: (.*): one process for all$/s

function withParts(sentence: string): string | undefined {
  if (sentence.startsWith(SECRETS)) {
    const names = sentence.slice(SECRETS.length)
    return t('It takes secrets as arguments, which other programs on its machine can see: {names}', { names })
  }
  const [, waiting] = WAITING.exec(sentence) ?? []
  if (waiting !== undefined) return t('{n} records wait for it', { n: Number(waiting) })
  const [, detail] = UNSEEN.exec(sentence) ?? []
  return detail === undefined ? undefined : t('could not be checked ({detail}): one process for all', { detail })
}

/** Why a figure of the machine cannot be had, by its part; `words` are the hub's, for a part that is not known here. */
export function missingFigure(part: string, words: string | undefined): string {
  const texts: Readonly<Record<string, string>> = {
    cpu: t('This system has no /proc/stat'),
    memory: t('This system has neither a memory limit in /sys/fs/cgroup nor /proc/meminfo'),
    disk: t('The data folder cannot be measured'),
    network: t('This system has no /proc/net/dev'),
  }
  return texts[part] ?? words ?? t('no reason given')
}

/** Text of a server's warning, by its code. */
export function serverWarning({
  code,
  message,
  tools = [],
}: {
  readonly code?: string
  readonly message: string
  readonly tools?: readonly string[]
}): string {
  const named = tools.join(', ')
  if (code === 'tools_need_asking')
    return t('Only clients that can be asked (sampling, elicitation, roots) see these tools: {tools}', { tools: named })
  if (code === 'own_connection_refused')
    return t('Some sessions share its connection and cannot be asked: {detail}', {
      detail: message.slice(message.indexOf(': ') + 2),
    })
  if (code === 'health_path_missing')
    return t('The server has no such path for health checks, and is checked without it: {detail}', {
      detail: message.slice(message.lastIndexOf(': ') + 2),
    })
  if (code === 'tls_unchecked')
    return t('Its certificate is not checked: somebody on the way can read and change everything.')
  if (code === 'stray_output')
    return t(
      'It sends text that is no MCP message, which the hub skips. Tell its author: a program writes logs to standard error, not to standard output. The first was: {detail}',
      { detail: message.slice(message.indexOf(' was: ') + 6) },
    )
  if (code === 'transport_deviates')
    return t('It deviates from MCP, and the hub takes it all the same. Tell its author: {detail}', {
      detail: message.slice(message.indexOf(' author: ') + 9),
    })
  if (code === 'wrong_form')
    return t('It is written in a form that does not work here, or not well: {detail}', { detail: message })
  if (code === 'plugin_off') {
    const [, fields = '', plugin = ''] = /^Its fields (.*) belong to the plugin ([\w-]+),/.exec(message) ?? []
    return t('Its fields {fields} belong to the plugin {plugin}, which does not run.', { fields, plugin })
  }
  if (code === 'one_connection_only')
    return t('It serves one connection at a time: all clients share it, and it cannot ask any of them.')
  return message
}
