/**
 * Passwords of 12 characters and more from near the top of published lists of leaked ones, in lower case. Shorter ones
 * are already rejected by length.
 */
const COMMON: ReadonlySet<string> = new Set(
  `
  123456789012 1234567890123 12345678901234 123456789012345 1234567890123456 123456123456 123123123123
  123412341234 012345678901 0123456789012 098765432109 0987654321098 987654321098 9876543210123 112233445566
  11223344556677 111222333444 111111111111 1111111111111 11111111111111 000000000000 0000000000000 222222222222
  555555555555 666666666666 777777777777 888888888888 999999999999 121212121212 101010101010 131313131313
  696969696969 1234567890qwerty 1234qwerasdf 1234qwerasdfzxcv 123456qwerty 123456789abc 123456789qwe 123456789asd
  12345678qwer 12345qwertasdfg 123qweasdzxc 123qwe123qwe 123abc123abc 123qweasdzxc123 1q2w3e4r5t6y 1q2w3e4r5t6y7u
  1q2w3e4r5t6y7u8i 1q2w3e4r5t6y7u8i9o 1q2w3e4r1q2w3e4r 1qaz2wsx3edc 1qaz2wsx3edc4rfv 1qaz1qaz1qaz 1qazxsw23edc
  1qaz@wsx3edc !qaz2wsx3edc q1w2e3r4t5y6 q1w2e3r4t5y6u7 q1w2e3r4t5y6u7i8 qazwsxedcrfv qazwsxedc123 qazwsx123456
  qaz123wsx456 zaq12wsxcde3 zaq1zaq1zaq1 zaq1xsw2cde3 zxcvbnm12345 zxcvbnm123456 zxcvbnm123456789 zxcvbnmasdfg
  zxcvbnmasdfghjkl asdfghjkl123 asdfghjkl1234 asdfghjkl12345 asdfghjkl123456 asdfghjklqwertyuiop asdfghjklzxcvbnm
  asdfasdfasdf asdfgh123456 asdf1234asdf qwertyuiop12 qwertyuiop123 qwertyuiop1234 qwertyuiop12345
  qwertyuiop123456 qwertyuiop[] qwertyuiopasdf qwertyuiopasdfgh qwertyuiopasdfghjkl qwertyuiopasdfghjklzxcvbnm
  qwertyuiop1234567890 qwertyqwerty qwerty123456 qwerty1234567 qwerty12345678 qwerty123456789 qwerty1234567890
  qwerty123qwerty qwertyuiop00 qweasdzxc123 qweasdzxcqwe qweqweqweqwe qwe123qwe123 qwer1234qwer qwer1234asdf
  qwertzuiopasdf azertyuiop12 azertyuiop123 azertyuiopqsdf azertyuiopqsdfghjklm poiuytrewq123 mnbvcxzlkjhg
  lkjhgfdsa123 poiuytrewqlkjhgfdsa abcdefghijkl abcdefghijklm abcdefghijklmn abcdefghijklmnop
  abcdefghijklmnopqrstuvwxyz abcdefgh1234 abcdefg12345 abcdef123456 abcabcabcabc abc123abc123 abc123456789
  abcd1234abcd abcd12345678 a1b2c3d4e5f6 a123456789012 a1234567890b aaaaaaaaaaaa aaaaaaaaaaaaa zzzzzzzzzzzz
  xxxxxxxxxxxx aa1234567890 a12345678910 q123456789012 passwordpassword password1234 password12345 password123456
  password1234567 password12345678 password123456789 password123! password1password password123password
  mypassword12 mypassword123 mypassword1234 thisismypassword thisisapassword thepassword123 newpassword1
  newpassword12 newpassword123 secretpassword supersecretpassword strongpassword securepassword defaultpassword
  temporarypassword testpassword testpassword1 testpassword123 userpassword rootpassword adminpassword
  adminpassword1 adminpassword123 administrator administrator1 administrator123 adminadminadmin admin123admin123
  admin1234567 admin12345678 admin123456789 rootrootroot toortoortoor changemechangeme changemeplease
  pleasechangeme changethispassword welcomewelcome welcome12345 welcome123456 letmeinletmein letmeinplease
  letmein12345 letmein123456 iloveyou1234 iloveyou12345 iloveyou123456 iloveyouiloveyou iloveyousomuch
  iloveyouforever iloveyoubaby iloveyoumore iwillalwaysloveyou sunshine1234 princess1234 football1234 baseball1234
  superman1234 michael12345 charlie12345 jennifer1234 monkey123456 dragon123456 master123456 shadow123456
  trustno1trustno1 trustnobody1 opensesame123 justinbieber1 liverpoolfc1 manchesterunited harrypotter1
  hello1234567 hellohellohello helloworld12 helloworld123 helloworld1234 whatever1234 computer1234 internet1234
  samsung12345 google123456 facebook1234 pokemon12345 minecraft123 minecraft1234 fuckyoufuckyou fuckyou12345
  blink182blink myspace12345 spongebob123 linkinpark12 metallica123 tinkerbell12 unbelievable1 jesuschrist1
  jesusislord1 godisgreat12 ilovejesus12 lovelovelove babygirl1234 test12345678 testtesttest test123456789
  testing12345 guestguestguest demo12345678
  `
    .trim()
    .split(/\s+/),
)

/** Common words that people lengthen with digits and signs to satisfy a length rule. */
const STRETCHED =
  /^(?:password|passwort|passw0rd|p@ssw0rd|p@ssword|qwerty|qwertz|azerty|letmein|welcome|admin|administrator|changeme|iloveyou|secret|patchbay|abc|test|root|user|guest)[\d\W_]*$/

/** True when a password is among those that attackers try first. Ignores letter case. */
export function isCommonPassword(password: string): boolean {
  const folded = password.normalize('NFKC').toLowerCase()
  return COMMON.has(folded) || STRETCHED.test(folded) || new Set(folded).size < 3
}
