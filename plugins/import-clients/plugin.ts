import { definePlugin } from 'patchbay/contract'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { crush } from './crush.ts'
import { gemini } from './gemini.ts'
import { goose } from './goose.ts'
import { exportedHub } from './hub-exports.ts'
import { opencode } from './opencode.ts'
import { zed } from './zed.ts'

/** Files of clients whose servers do not stand in a plain map such as `mcpServers`. */
export default definePlugin({
  name: 'import-clients',
  contract: 1,
  setup(context) {
    const sources = { codex, crush, gemini, goose, opencode, zed, 'claude-code': claudeCode, 'hub-export': exportedHub }
    for (const [id, source] of Object.entries(sources)) context.contribute('importSource', id, source)
    return undefined
  },
})
