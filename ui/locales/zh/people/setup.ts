/** Chinese texts of the set-up, by their English. */
export const setup: Readonly<Record<string, string>> = {
  'Set-up': '初始设置',
  'Token from the log': '日志中的令牌',
  Administrator: '管理员',
  'Public URL': '公开地址',
  Import: '导入',
  'First client': '第一个客户端',
  'Set-up, step {at} of {n}': '初始设置，第 {at} 步，共 {n} 步',
  Steps: '步骤',
  'You can close this page and go on later; only the administrator is needed.':
    '可以关闭此页稍后继续，只有管理员账户是必需的。',
  done: '已完成',
  'Whose hub is this?': '这个 Hub 属于谁？',
  'Whoever can read the hub’s log may set it up. It printed a line that begins with “setup token:”.':
    '能读取 Hub 日志的人即可进行设置。日志中有一行以 “setup token:” 开头。',
  'Set-up token': '设置令牌',
  'Lost it? “patchbay setup-token” prints it again on the machine of the hub.':
    '找不到？在 Hub 所在机器上运行 “patchbay setup-token” 可再次显示。',
  'Go on': '继续',
  'very weak': '非常弱',
  weak: '弱',
  fair: '一般',
  good: '较好',
  strong: '强',
  'The first administrator': '第一个管理员',
  'Owns what the settings file lists, and may make further users.': '拥有设置文件中的内容，并可创建其他用户。',
  'A few words are better than a short riddle.': '几个词比一小段难记的字符更好。',
  'This password is {strength}.': '密码强度：{strength}。',
  Back: '返回',
  'Make administrator': '创建管理员',
  'How clients reach the hub': '客户端如何访问 Hub',
  'This page came from {url}. Behind a proxy, clients may need another address; it is used in the configurations that they get.':
    '此页面来自 {url}。在代理之后，客户端可能需要另一个地址，它会写入提供给客户端的配置。',
  'Set by the environment (PUBLIC_URL), and changed there alone.': '由环境变量 PUBLIC_URL 设置，只能在那里修改。',
  'Used from the next start of the hub. Without it, the address of each request counts.':
    '下次启动 Hub 时生效。未设置时以每个请求的地址为准。',
  'Save address': '保存地址',
  'Bring your servers along': '带上您的服务器',
  'The settings of a client or of another hub. Secrets are sealed on this hub, the file is left as it is.':
    '客户端或其他 Hub 的设置。密文会在本 Hub 加密保存，原文件不变。',
  'Settings file': '设置文件',
  'Connect a client': '连接客户端',
  'The hub has a sample server in a group of the same name. The next page gives a client what it needs, and shows when it has connected.':
    'Hub 自带一个示例服务器及同名分组。下一页提供客户端所需的配置，并在连接成功时显示。',
  'Import {n} server': '导入 {n} 个服务器',
  'Import {n} servers': '导入 {n} 个服务器',
}
