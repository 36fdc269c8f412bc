/** Short chats of everyday life in languages that a model of English does not know, and what is asked of them. */

export interface ForeignChat {
  readonly language: string
  readonly messages: ReadonlyArray<string>
  /** A question, and the index of the message that answers it. */
  readonly questions: ReadonlyArray<readonly [question: string, message: number]>
}

export const foreignChats: ReadonlyArray<ForeignChat> = [
  {
    language: "German",
    messages: [
      "Seit März wohne ich in Leipzig, in einer Altbauwohnung im dritten Stock.",
      "Mein Hund heißt Balduin und ist ein Dackel.",
      "Am Donnerstag habe ich einen Termin beim Zahnarzt Dr. Kessler.",
      "Meine Schwester Frieda arbeitet als Hebamme im Klinikum.",
      "Gegen Haselnüsse bin ich allergisch, Walnüsse gehen.",
      "Wir haben gestern das alte Sofa verkauft, für achtzig Euro.",
      "Im Keller steht noch das Fahrrad von Opa.",
      "Der neue Chef will, dass wir montags ins Büro kommen.",
      "Zum Geburtstag hat mir Jonas eine Schallplatte geschenkt.",
      "Die Heizung ist seit Dienstag kaputt, der Vermieter meldet sich nicht.",
      "Ich lerne gerade Klavier, jeden Abend eine halbe Stunde.",
      "Das Passwort fürs Gäste-WLAN steht am Kühlschrank.",
      "Unsere Hochzeitsreise ging nach Madeira.",
      "Ich trinke meinen Kaffee schwarz und ohne Zucker.",
      "Der Mietvertrag läuft Ende September aus.",
      "Tante Gerda zieht ins Pflegeheim nach Halle.",
      "Beim Umzug ist der große Spiegel zerbrochen.",
      "Die Kinder gehen jetzt zusammen zum Schwimmkurs.",
      "Morgen bringe ich das Auto zur Inspektion nach Markkleeberg.",
      "Abends lese ich meistens Krimis aus Schweden."
    ],
    questions: [
      ["Wo wohne ich seit März?", 0],
      ["Wie heißt mein Hund?", 1],
      ["Wann ist der Termin beim Zahnarzt?", 2],
      ["Als was arbeitet meine Schwester?", 3],
      ["Wogegen bin ich allergisch?", 4],
      ["Für wie viel haben wir das Sofa verkauft?", 5],
      ["Was steht noch im Keller?", 6],
      ["An welchem Tag will der Chef uns im Büro sehen?", 7],
      ["Was hat Jonas mir geschenkt?", 8],
      ["Seit wann ist die Heizung kaputt?", 9],
      ["Welches Instrument lerne ich jeden Abend?", 10],
      ["Wo steht das Passwort fürs WLAN?", 11],
      ["Wohin ging die Hochzeitsreise?", 12],
      ["Wann läuft der Mietvertrag aus?", 14],
      ["Was ist beim Umzug zerbrochen?", 16]
    ]
  },
  {
    language: "Japanese",
    messages: [
      "三月から仙台に住んでいます。駅から歩いて十分です。",
      "うちの犬の名前はコタロウで、柴犬です。",
      "木曜日に歯医者の予約があります。",
      "妹は病院で看護師をしています。",
      "私はエビのアレルギーがあるので食べられません。",
      "昨日、古いソファを八千円で売りました。",
      "物置に祖父の自転車がまだあります。",
      "新しい上司は月曜日に出社してほしいそうです。",
      "誕生日に健二からレコードをもらいました。",
      "暖房が火曜日から壊れていて困っています。",
      "最近、毎晩ピアノを練習しています。",
      "ゲスト用のパスワードは冷蔵庫に貼ってあります。",
      "新婚旅行は沖縄に行きました。",
      "コーヒーは砂糖なしで飲みます。",
      "アパートの契約は九月末で終わります。",
      "叔母が施設に入ることになりました。",
      "引っ越しのときに大きな鏡が割れました。",
      "子どもたちは一緒に水泳教室に通っています。",
      "明日、車を点検に出します。",
      "夜はたいてい推理小説を読んでいます。"
    ],
    questions: [
      ["私はどこに住んでいますか", 0],
      ["犬の名前は何ですか", 1],
      ["歯医者の予約はいつですか", 2],
      ["妹はどんな仕事をしていますか", 3],
      ["何のアレルギーがありますか", 4],
      ["ソファはいくらで売りましたか", 5],
      ["物置に何がありますか", 6],
      ["上司はいつ出社してほしいのですか", 7],
      ["健二から何をもらいましたか", 8],
      ["暖房はいつから壊れていますか", 9],
      ["毎晩何を練習していますか", 10],
      ["パスワードはどこに貼ってありますか", 11],
      ["新婚旅行はどこに行きましたか", 12],
      ["契約はいつ終わりますか", 14],
      ["引っ越しで何が割れましたか", 16]
    ]
  },
  {
    language: "Chinese",
    messages: [
      "我三月搬到了成都，住在三楼的老房子里。",
      "我的狗叫豆包，是一只柯基。",
      "星期四我要去看牙医。",
      "我妹妹在医院当护士。",
      "我对虾过敏，不能吃海鲜。",
      "昨天我们把旧沙发卖了八百块。",
      "地下室里还放着爷爷的自行车。",
      "新老板希望我们星期一去办公室。",
      "生日那天小杰送了我一张唱片。",
      "暖气从星期二开始就坏了。",
      "我最近每天晚上练钢琴。",
      "客人用的密码贴在冰箱上。",
      "我们的蜜月去了三亚。",
      "我喝咖啡不加糖。",
      "租房合同九月底到期。",
      "姑姑要搬进养老院了。",
      "搬家的时候大镜子碎了。",
      "孩子们一起上游泳课。",
      "明天我把汽车送去检修。",
      "晚上我一般看侦探小说。"
    ],
    questions: [
      ["我三月搬到了哪里？", 0],
      ["我的狗叫什么名字？", 1],
      ["我什么时候去看牙医？", 2],
      ["我妹妹做什么工作？", 3],
      ["我对什么过敏？", 4],
      ["旧沙发卖了多少钱？", 5],
      ["地下室里放着什么？", 6],
      ["老板希望我们哪天去办公室？", 7],
      ["小杰送了我什么？", 8],
      ["暖气什么时候坏的？", 9],
      ["我每天晚上练什么乐器？", 10],
      ["密码贴在哪里？", 11],
      ["蜜月去了哪里？", 12],
      ["租房合同什么时候到期？", 14],
      ["搬家的时候什么碎了？", 16]
    ]
  }
]
