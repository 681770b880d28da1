/** A server with two skills, made with the official package of version 2, over stdio. `NAMED` is said in its first skill. */
import { McpServer } from '@modelcontextprotocol/server'
import { memorySkillFiles, SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const skill = (name: string, said: string) => `---\nname: ${name}\ndescription: ${said}\n---\n\n# ${said}\n`
const catalog = await SkillsExtension.load(
  memorySkillFiles({
    'refunds/SKILL.md': skill('refunds', `Refunds by ${process.env.NAMED}`),
    'refunds/references/RULES.md': `# Rules of ${process.env.NAMED}\n`,
    'acme/billing/SKILL.md': skill('billing', 'Bills'),
  }),
)

serveStdio(() => {
  const server = new McpServer({ name: 'skills', version: '1.0.0' }, { capabilities: {} })
  catalog.attach(server)
  return server
})
