/** Chinese for the notes of clients. */
export const words: Readonly<Record<string, string>> = {
  'The file is opened by Settings, Developer, Edit Config. Node.js must be installed, for npx.':
    '此文件可通过 Settings、Developer、Edit Config 打开。需安装 Node.js 以使用 npx。',
  'Claude Code writes ~/.claude.json itself: close it before that file is changed, or use its command.':
    'Claude Code 会自行写入 ~/.claude.json：修改该文件前请先关闭它，或使用其命令。',
  'To keep the key out of the file, replace http_headers by bearer_token_env_var = "NAME_OF_A_VARIABLE".':
    '如不想把密钥写入文件，请将 http_headers 替换为 bearer_token_env_var = "NAME_OF_A_VARIABLE"。',
  'Servers on this machine or in a private network also need mcpSettings.allowedDomains in librechat.yaml.':
    '本机或内网中的服务器还需在 librechat.yaml 中设置 mcpSettings.allowedDomains。',
}
